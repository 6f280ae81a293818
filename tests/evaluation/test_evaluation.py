"""What an evaluation says, shows and reads."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ModelFormatError
from hedgerow.evaluation import Evaluation
from hedgerow.models import envelope
from hedgerow.models.score_bands import ScoreBand
from hedgerow.privacy import Charge, PrivacyCard
from tests.evaluation.models import TARGETS

FILES = Path(__file__).with_name("files")

CARD = PrivacyCard((Charge("counts", Fraction(1, 10)),), noise="OpenDP", software="hedgerow")
COUNTS = (700, 50, 90, 160), (400, -7, 12, 95)
PLAIN = Evaluation("tree", "ab" * 32, TARGETS["classes"], COUNTS, CARD, (), "sex", ("f", "m"))
ERRORS = (-9.0, -1.0), (-1.0, 1.0), (1.0, 9.0)
NUMBER = Evaluation("tree", "ab" * 32, TARGETS["number"], ((90, 800, 95),), CARD, ERRORS)


def test_the_text_has_the_matrix_the_estimates_and_the_noise():
    text = str(PLAIN)
    assert text.startswith("evaluation of the tree abababababab on about 1,500 rows (1,421 to 1,579)\n")
    assert (
        "true  predicted no  predicted yes\nno           1,100             43\nyes            102            255\n"
        in text
    )
    assert "\nmeasure                 value  " in text
    assert "\naccuracy               90.3 %" in text
    assert "  76.2 % (" in text
    assert "the model has fewer errors than always predicting the same class" in text
    assert "sex = m: about 500 rows" in text
    assert "at most 30 rows (95 % confidence). Negative counts are due to noise" in text
    assert "below 0" not in str(NUMBER)
    assert "\nmean absolute error " in str(NUMBER)


def test_noise_beyond_all_numbers_is_too_noisy_to_say():
    for epsilon in (Fraction(1, 10**30), Fraction(1, 10**400)):
        lost = replace(PLAIN, privacy=replace(CARD, charges=(Charge("counts", epsilon),)))
        assert "too noisy" in str(Evaluation.from_dict(lost.to_dict())).split("accuracy")[1]


def test_uninformative_estimates_are_marked():
    few = replace(PLAIN, counts=((12, -30, 5, 9), (3, 8, -2, 20)))
    assert few.accuracy.value is not None or not few.accuracy.is_informative
    assert str(few.accuracy) == "too noisy to say"
    assert few.verdict == "too noisy to say"
    assert "too noisy to say whether the model has fewer errors than always predicting the same class" in str(few)
    nothing = replace(PLAIN, counts=((-1, -1, -1, -1), (0, 0, 0, 0)))
    assert nothing.accuracy.value is None
    assert nothing.rows("m")[1] == (0, nothing._noise.spread(4))
    assert nothing.rows("f") == (0, (0, nothing._noise.spread(4) - 4))
    assert "on about 0 rows (0 to " in str(nothing)


def test_an_impossible_share_is_replaced_by_the_nearest_possible_share():
    few = replace(PLAIN, counts=((700, -3, 90, 160), (500, -4, 12, 95)))
    wrong = next(each for each in few.estimates if each.name.startswith("errors among true no"))
    assert wrong.value == 0
    assert wrong.is_informative
    assert str(wrong).startswith("0.0 % (noise only 0.0 to ")


def test_a_model_worse_than_a_constant_gets_the_verdict_worse():
    worse = replace(PLAIN, counts=((700, 500, 90, 160), (400, 400, 12, 95)))
    assert worse.verdict == "worse"
    assert "the model has more errors than always predicting the same class" in str(worse)


def test_a_verdict_is_wrong_in_at_most_5_percent_of_cases():
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(400):  # as often right as one class is
        noise = rng.geometric(-np.expm1(-0.1), (2, 2, 4)) - rng.geometric(-np.expm1(-0.1), (2, 2, 4))
        counts = np.array([[300, 50, 50, 30], [100, 20, 20, 40]]) + noise[0]
        wrong += replace(PLAIN, counts=tuple(map(tuple, counts.tolist()))).verdict != "too noisy to say"
    assert wrong <= 40


def test_many_constants_are_compared_at_the_stated_confidence():
    """The model is right as often as each of ten classes is."""
    rng, wrong, missed, label = np.random.default_rng(0), 0, 0, hr.Label("y", tuple("abcdefghij"))
    tied = replace(PLAIN, target=label, bands=tuple(map(ScoreBand, range(10))), counts=((100,) * 100,) * 2)
    for _ in range(400):
        counts = 100 + rng.geometric(-np.expm1(-0.1), (2, 100)) - rng.geometric(-np.expm1(-0.1), (2, 100))
        result = replace(tied, counts=tuple(map(tuple, counts.tolist())))
        wrong += result.verdict != "too noisy to say"
        low, high = result.baseline[1].on_rows
        missed += not low <= 0.1 <= high
    assert wrong <= 25
    assert missed <= 25


def test_of_a_number_there_is_no_matrix():
    for ask in (lambda: NUMBER.matrix, lambda: NUMBER.accuracy, lambda: NUMBER.mean_cost({}), lambda: NUMBER.baseline):
        with pytest.raises(TypeError, match="estimates"):
            ask()


def test_records_and_html():
    records = PLAIN.records()
    assert [record["group"] for record in records] == ["all rows"] * 3 + ["f"] * 3 + ["m"] * 3
    assert set(records[0]) == {"group", "id", "name", "value", "on_rows", "of_others", "says_something", "constant"}
    hostile = replace(PLAIN, groups=("<script>", "m"))
    assert "<script>" not in hostile._repr_html_()
    assert repr(PLAIN).startswith("<Evaluation of the tree abababababab; epsilon-differential privacy")


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [[1, 2, 3]]},
        {"counts": [[1.0, 2, 3, 4]] * 2},
        {"counts": [[2**63, 2, 3, 4]] * 2},
        {"groups": ["f"]},
        {"errors": [[0, 1]]},
        {"label": {"name": "y"}},
        {"model": {"kind": "tree"}},
        {"model": "tree"},
        {"privacy": None},
        {"privacy": PrivacyCard.none("none").to_dict()},
        {"more": 1},
        {"by": 3},
        {"groups": [1, 2]},
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change):
    data = {**PLAIN.to_dict(), **change}
    data.pop("digest")
    with pytest.raises(ModelFormatError, match="evaluation"):
        Evaluation.from_dict(envelope.seal(data))


def test_a_file_that_was_edited_is_refused():
    with pytest.raises(ModelFormatError, match="digest"):
        Evaluation.from_dict({**PLAIN.to_dict(), "by": "age"})
    with pytest.raises(ModelFormatError, match="format"):
        hr.evaluation.Evaluation.from_dict({"format": "hedgerow/tree"})


@pytest.mark.parametrize(("name", "expected"), [("classes", PLAIN), ("number", NUMBER)])
def test_files_of_the_last_release_are_read(name, expected):
    result = Evaluation.load(FILES / f"{name}-0.2.0.json")
    assert result == expected
    assert [estimate.name for estimate in result.estimates][:1] == [
        "accuracy" if name == "classes" else "mean absolute error"
    ]
    assert result.to_json() == (FILES / f"{name}-0.2.0.json").read_text("utf-8")


def test_the_verdict_is_by_costs_if_there_are_costs():
    costs = ((0.0, 1.0), (5.0, 0.0))
    rare = replace(PLAIN, counts=((700, 200, 10, 90), (700, 200, 10, 90)))
    assert rare.verdict == "worse"
    assert replace(rare, costs=costs).verdict == "better"
    assert "the model has lower costs than always predicting the same class" in str(replace(rare, costs=costs))
    assert "lower costs" not in str(rare)


def test_a_reliability_diagram_is_drawn_for_probabilities_of_two_classes():
    pytest.importorskip("matplotlib")
    bands = ScoreBand(0, 0.0, 0.3, (0.8, 0.2)), ScoreBand(0, 0.3, 0.5, (0.6, 0.4)), ScoreBand(1, 0.5, 1.0, (0.3, 0.7))
    result = replace(PLAIN, counts=((700, 300, 100, 200, 180, 250),), by=None, groups=("all rows",), bands=bands)
    assert [count for _, count, _ in result.reliability] == [900, 480, 350]
    assert result.reliability[0][2].value == pytest.approx(200 / 900)
    points = result.plot().containers[0].lines[0].get_xydata()
    assert points == pytest.approx(np.array([[0.2, 200 / 900], [0.4, 180 / 480], [0.7, 250 / 350]]))
    assert "<svg" in result._repr_html_()
    assert "score band: P(yes)" in str(result)
    assert "\n0.0 to 30.0 %  " in str(result)
    of_a_leaf = replace(result, bands=(bands[0], replace(bands[1], low=0.4, high=0.4), bands[2]))
    assert "\n40.0 %  " in str(of_a_leaf)
    assert Evaluation.from_json(result.to_json()) == result
    with pytest.raises(TypeError, match="two classes"):
        PLAIN.plot()
