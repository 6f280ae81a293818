"""What a scorecard shows, in words."""

from hedgerow.models import Scorecard
from hedgerow.models.scorecard_form import risk_lines
from tests.models.scorecards import NONE, THREE, TWO, sheet


def test_a_sheet_has_the_bins_points_and_risks_of_its_scorecard() -> None:
    for model in (TWO, THREE):
        result = sheet(model)
        named = [(item.attribute, item.name) for bins in result.bins for item in bins]
        assert named == [(record["attribute"], record["bin"]) for record in model.get_points()]
    assert [item.record() for item in sheet(TWO).risks] == TWO.risks()
    assert sheet(THREE).risks == ()
    assert (sheet(TWO).columns, sheet(THREE).columns) == (("points",), ("home", "intensive care", "ward"))
    assert risk_lines(sheet(TWO))[:2] == [
        ["total", "P(ill = yes)", "95 % (noise only)"],
        ["-21", "11 %", "7.0 % to 17 %"],
    ]
    certain = Scorecard(TWO.schema, TWO.base, TWO.parts, 0.1, None, NONE)
    assert risk_lines(sheet(certain))[:2] == [["total", "P(ill = yes)"], ["-21", "11 %"]]


def test_sentences_explain_totals() -> None:
    assert sheet(TWO).notes == [
        "yes is predicted for totals above 0, otherwise no.",
        "P(ill = yes) = 1 / (1 + exp(-0.1 * total)).",
        "The noise of the release adds a standard error of 0.25 to the log-odds.",
        "95 % (noise only): interval expected to contain the result of the same fit without noise.",
        "It includes neither sampling error nor the division of points among correlated attributes.",
    ]
    noisy = Scorecard(THREE.schema, THREE.base, THREE.parts, 0.5, 0.25, NONE)
    assert sheet(noisy).notes[1:] == ["The noise of the release adds a standard error of 0.25 to the log-odds."]
    assert (sheet(TWO).title, sheet(THREE).title) == ("Points for ill = yes", "Points for goes to")
