"""Forms take what they say and refuse all else, naming the entry and quoting no more than the question itself."""

import pytest

from hedgerow.errors import UnreadableError
from hedgerow.service.forms import FORMS, LARGEST_QUESTION, read_form
from tests.service.wards import EXAMPLES, example


def test_every_kind_of_question_has_an_example():
    assert set(EXAMPLES) == set(FORMS), "Add a question of every kind to EXAMPLES in tests/service/wards.py."


@pytest.mark.parametrize("amount", ["1/4", "0.25", "1e-2"])
@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_good_question_is_read(kind, amount):
    assert read_form(kind, example(kind, epsilon=amount)).epsilon == amount


@pytest.mark.parametrize(
    "amount", [0.25, 1, "-1", "1e400", "nan", "inf", "1/-4", " 1", "1\n", "٣", "0x1", "1e-400", ""]
)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_amount_is_text_of_a_few_digits(kind, amount):
    with pytest.raises(UnreadableError, match="'epsilon': expected an amount"):
        read_form(kind, example(kind, epsilon=amount))


@pytest.mark.parametrize(
    ("kind", "change", "named"),
    [
        ("marginals", {"more": 1}, "more"),
        ("marginals", {"bins": {}}, "bins"),
        ("marginals", {"bins": [1]}, "bins"),
        ("marginals", {"by": "rows; DROP TABLE"}, "by"),
        ("error-marginals", {"hypothesis": {"pickle": "gASV"}}, "hypothesis"),
        ("error-marginals", {"hypothesis": {"always": 0.5}}, "hypothesis"),
        ("error-marginals", {"hypothesis": None}, "hypothesis"),
        ("fits", {"model": "forest"}, "model"),
        ("fits", {"parameters": {"budget": [1]}}, "parameters"),
        ("fits", {"attributes": []}, "attributes"),
    ],
)
def test_invalid_fields_of_a_form_are_refused_by_name(kind, change, named):
    with pytest.raises(UnreadableError, match=named):
        read_form(kind, example(kind, **change))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"\xff", "UTF-8"),
        (b"[" * 100_000, "nested"),
        (b"{" * 50 + b"}" * 50, "not JSON"),
        (b'{"epsilon": "1", "epsilon": "2"}', "duplicate"),
        (b'{"epsilon": NaN}', "finite"),
        (b'{"epsilon": 1e999}', "finite"),
        (b'{"epsilon": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"epsilon": "\\ud800"}', "surrogate"),
        (b" " * (LARGEST_QUESTION + 1), "at most"),
        (b"null", "dictionary|question"),
    ],
    ids=lambda given: str(given)[:40],  # of megabytes, which each worker would send
)
def test_hostile_text_is_refused(body, said):
    with pytest.raises(UnreadableError, match=said):
        read_form("marginals", body)
