"""Score bands: a row is in one band, whose class it is predicted, and whose ends hold its score."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ArgumentError
from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.score_bands import ScoreBand, margin_cuts, outcome_bands
from hedgerow.privacy.card import PrivacyCard
from tests.evaluation.models import ATTRIBUTES, TARGETS, fitted, rows
from tests.models.scorecards import THREE, TWO

NONE = PrivacyCard.none("example", software="hedgerow")


def bins_of(model, frame):
    codes = model.schema.encode(hr.tables.frames.Table.of(frame), model.used_attributes)
    return codes, len(frame)


def check_bands(model, frame, most):
    """Every row's band has its prediction, and holds its score; no band is empty of scores by its ends."""
    result = model.score_bands(most)
    places = result.places(*bins_of(model, frame))
    predicted, scores = model.predict(frame), model.predict_proba(frame)
    classes = model.schema.classes
    for place, label, shares in zip(places, predicted, scores, strict=True):
        band = result.bands[place]
        band.check(len(classes))
        score = shares[1] if len(classes) == 2 else shares[classes.index(label)]
        assert classes[band.predicted] == label
        assert band.low - 1e-12 <= score <= band.high + 1e-12
    return result.bands


@pytest.mark.parametrize("most", [1, 3, 10, 100])
@pytest.mark.parametrize("scale", [None, {"pdo": 20, "score": 600, "odds": 50, "favourable": "no"}])
def test_no_band_of_a_scorecard_straddles_the_threshold(most, scale):
    model = fitted("classes", "scorecard").scorecard_
    model = model if scale is None else model.scaled(**scale)
    bands = check_bands(model, rows(300, "classes"), most)
    assert len(bands) <= max(most, 2) + 1
    assert {band.predicted for band in bands} == {0, 1}


@pytest.mark.parametrize("most", [1, 2, 3, 8])
def test_leaves_with_probabilities_are_merged_within_a_class(most):
    schema = hr.Schema(ATTRIBUTES, TARGETS["classes"])
    learner = hr.PrivateTreeClassifier(8, objective="brier", schema=schema, max_depth=3, random_state=0)
    frame = rows(400, "classes")
    model = learner.fit(frame.drop(columns=["y", "ward"]), frame["y"]).tree_
    bands = check_bands(model, frame, most)
    assert len(bands) <= max(most, 2)


def test_labels_alone_have_a_band_for_each_class_that_is_predicted():
    schema = hr.Schema(ATTRIBUTES, TARGETS["order"])
    literal = hr.schema.Literal("smoker", "true")
    tree = Tree(schema, Split(literal, Leaf(label="high"), Leaf(label="low")), NONE)
    assert tree.score_bands(5).bands == (ScoreBand(0), ScoreBand(2))
    assert THREE.score_bands(5).bands == (ScoreBand(0), ScoreBand(1), ScoreBand(2))
    number = hr.Schema(ATTRIBUTES, TARGETS["number"])
    with pytest.raises(ValueError, match="number"):
        Tree(number, Leaf(label=number.target.values[0]), NONE).score_bands(5)


def test_few_totals_have_a_band_each():
    bands = TWO.score_bands(1000).bands
    assert all(band.low == band.high == pytest.approx(band.probabilities[1]) for band in bands)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=12),
    st.integers(1, 14),
)
@example(outcomes=[(0.5236649108750281, False)] * 4, most=2)  # the mean of three equal numbers is another number
def test_outcomes_are_in_the_band_of_their_class(outcomes, most):
    predicted = [int(label) for _, label in outcomes]
    shares = np.array([[1 - share, share] for share, _ in outcomes])
    bands, places = outcome_bands(predicted, shares, most)
    assert len(bands) <= max(most, len(set(predicted)))
    for place, label, share in zip(places, predicted, shares[:, 1], strict=True):
        assert bands[place].predicted == label
        assert bands[place].low <= share <= bands[place].high
    for first, second in itertools.pairwise(bands):
        assert (first.predicted, first.high) < (second.predicted, second.low)


@given(
    st.integers(-1000, 1000),
    st.integers(0, 2000),
    st.floats(-1500, 1500),
    st.floats(0, 500),
    st.integers(1, 30),
)
def test_margins_on_both_sides_of_zero_are_cut_there(lowest, width, centre, deviation, most):
    highest = lowest + width
    cuts = margin_cuts(lowest, highest, centre, deviation, most).tolist()
    assert cuts == sorted(set(cuts))
    assert all(lowest <= cut < highest for cut in cuts)
    assert len(cuts) <= most
    if lowest <= 0 < highest:
        assert 0 in cuts


@pytest.mark.parametrize(
    "band",
    [
        ScoreBand(2),
        ScoreBand(-1),
        ScoreBand(True),
        ScoreBand(0, 0.6, 0.5),
        ScoreBand(0, 0.0, 1.5),
        ScoreBand(0, 0.0, 1.0, (0.5, 0.4)),
        ScoreBand(0, 0.0, 1.0, (1.0,)),
        ScoreBand(0, 0.0, 1.0, (1.5, -0.5)),
        ScoreBand(0, float("nan"), 1.0),
    ],
)
def test_a_band_that_does_not_fit_is_refused(band):
    with pytest.raises(ArgumentError, match=r"^a band must have"):
        band.check(2)
