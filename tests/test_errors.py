import re
from fractions import Fraction

import pytest

from hedgerow import errors
from hedgerow.errors import (
    BudgetExceededError,
    DomainError,
    MissingPackageError,
    ModelFormatError,
    NotPicklableError,
    SchemaError,
)


@pytest.mark.parametrize(
    ("attribute", "key", "message"),
    [
        (None, None, "wrong"),
        ("age", None, "attribute 'age': wrong"),
        (None, "low", "key 'low': wrong"),
        ("age", "low", "attribute 'age': key 'low': wrong"),
    ],
)
def test_a_schema_error_names_the_place_and_carries_it(attribute, key, message):
    error = SchemaError("wrong", attribute=attribute, key=key)
    assert (str(error), error.attribute, error.key) == (message, attribute, key)


@pytest.mark.parametrize(
    ("column", "message"), [(None, "wrong"), ("age", "column 'age': wrong"), ("", "column '': wrong")]
)
def test_a_domain_error_names_the_column_and_carries_it(column, message):
    error = DomainError("wrong", column=column)
    assert (str(error), error.column) == (message, column)


def overdraft(**amounts):
    zero = dict.fromkeys(("requested", "remaining", "requested_delta", "remaining_delta"), Fraction(0))
    return BudgetExceededError(**zero | {name: Fraction(value) for name, value in amounts.items()})


def test_an_overdraft_carries_exact_amounts():
    error = overdraft(requested="1/3", remaining="1/7", requested_delta="1/1000000", remaining_delta="1/2000000")
    assert (error.requested, error.remaining) == (Fraction(1, 3), Fraction(1, 7))
    assert (error.requested_delta, error.remaining_delta) == (Fraction(1, 1_000_000), Fraction(1, 2_000_000))
    assert "epsilon=0.142857 and delta=5e-07 left, and epsilon=0.333333 and delta=1e-06" in str(error)


def test_an_overdraft_mentions_delta_only_if_some_was_requested():
    assert "delta" not in str(overdraft(requested=2, remaining=1, remaining_delta="1/10"))


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (SchemaError, ValueError),
        (DomainError, ValueError),
        (BudgetExceededError, ValueError),
        (ModelFormatError, ValueError),
        (NotPicklableError, TypeError),
    ],
)
def test_every_error_is_also_the_builtin_that_callers_catch(kind, builtin):
    assert issubclass(kind, builtin)


@pytest.mark.parametrize("make", [SchemaError, DomainError, ModelFormatError])
def test_a_message_is_one_readable_line(make):
    assert str(make("found a\x1b[2J\nb\u202e")) == r"found a\x1b[2J\nb\u202e"
    assert len(str(make("x" * 10**6))) == 1000


def test_a_long_name_is_shortened_and_the_message_is_not():
    assert str(SchemaError("wrong", attribute="a" * 10**6)) == f"attribute '{'a' * 60}'…: wrong"
    assert str(DomainError("wrong", column="a\n" * 10**6)).endswith("…: wrong")


def test_a_single_fault_is_the_error_and_several_are_numbered():
    item = SchemaError("expected x.", key="low")
    assert (item.faults, SchemaError.of([item])) == ((item,), item)
    placed = item.placed(attribute="age", line=3)
    assert str(placed) == "line 3: attribute 'age': key 'low': expected x."
    assert str(placed.placed(attribute="dose", line=9)) == str(placed)
    both = SchemaError.of([placed, SchemaError("expected y.")])
    assert str(both) == "2 faults: (1) line 3: attribute 'age': key 'low': expected x.; (2) expected y."
    assert (both.attribute, both.key, both.line, len(both.faults)) == ("age", "low", 3, 2)
    assert str(both.placed(attribute="b", line=7).faults[1]) == "line 7: attribute 'b': expected y."
    in_file = both.in_file("a.yaml")
    assert (in_file.heading, in_file.faults) == ("a.yaml: 2 faults:", both.faults)
    assert str(in_file.in_file("b.yaml")) == f"a.yaml: {both}"
    assert item.in_file("a.yaml").heading == str(item.in_file("a.yaml")) == f"a.yaml: {item}"
    assert "… 90 more" in str(SchemaError.of([SchemaError("n")] * 100))


def test_a_missing_column_is_named_with_a_similar_column():
    assert str(DomainError.absent("age", ["sex", "Age"])) == (
        "column 'age': the table has no such column. Its columns: Age, sex. Did you mean 'Age'?"
    )
    assert str(DomainError.absent("age", ["sex"])).endswith("columns: sex.")


def test_the_tree_in_the_docstring_matches_the_classes():
    drawn, above = {}, {}
    for indent, name, builtin in re.findall(r"(?m)^( *)\* (\w+)(?: \((\w+)\))?$", errors.__doc__):
        above[len(indent)] = name
        drawn[name] = {above.get(len(indent) - 2, "Exception"), *([builtin] if builtin else [])}
    result = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    bases = {kind.__name__: {base.__name__ for base in kind.__bases__} for kind in result}
    assert drawn == bases | {"UserWarning": {"Exception"}}


def test_a_missing_package_names_the_extra_that_installs_it():
    error = MissingPackageError.of("reading .xlsx", "openpyxl", "excel")
    assert str(error).endswith("pip install '.[excel]'")
