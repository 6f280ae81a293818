"""The sentences of docs/reading.md about its three models follow from the committed files."""

import re

import hedgerow as hr
from tests.docs.page import ROOT

PAGE = " ".join((ROOT / "docs" / "reading.md").read_text("utf-8").replace("\n> ", "\n").split())


def loaded(name):
    return hr.load_model(ROOT / "docs" / "readings" / f"{name}.json")


def note(model, prediction):
    """Return the numbers of the note behind the one line with a prediction."""
    (line,) = (line for line in str(model).splitlines() if f": {prediction} " in line)
    return line.partition("#")[2].strip()


def test_the_group_of_the_tree_is_the_group_in_the_file():
    tree = loaded("tree")
    (leaf,) = (place for place, said in enumerate(tree.predictions) if said == "yes")
    assert tree.conditions[leaf] == "stays > 1 and age > 75 and emergency"
    low, high, rows = re.fullmatch(r"(\d+) to (\d+) % of about (\d+)", note(tree, "yes")).groups()
    assert f"About {rows} of the 4,000 patients had two stays or more in the year before, were older than 75" in PAGE
    assert f"Of these, {low} to {high} % returned within a month." in PAGE
    assert f"In this group, {100 - int(high)} to {100 - int(low)} % did not return." in PAGE
    assert "drugs" not in tree.used_attributes


def test_the_points_that_are_compared_are_those_of_the_scorecard():
    card = loaded("scorecard")
    text = str(card)

    def line(bin_):
        """Return the points of a printed bin, by how much the noise may be off, and the rows."""
        return re.search(rf" {re.escape(bin_)} +(-?\d+) +±(\d+) +about (\S+)\n", text).groups()

    (old, off, rows), (sixty, also, _) = map(line, ("76 to 100", "51 to 75"))
    assert f"the patient of 80 has {int(old) - int(sixty)} points more than the patient of 60." in PAGE
    assert off == also
    assert f"each of the two numbers could be {off} higher or lower." in PAGE
    assert f"About {rows} of the 4,000 patients are older than 75." in PAGE
    (old, off, _), (others, also, _) = map(line, ("geriatrics", "cardiology, surgery"))
    assert f"they have {int(others) - int(old)} points less." in PAGE
    assert off == also
    assert f"Each of the two numbers may be off by {off}." in PAGE
    (risk,) = (risk for risk in card.risks() if risk["total"] == 0)
    assert (
        f"about {100 * risk['probability']:.0f} %: of 100 such patients, the scorecard expects about 50 to return."
        in PAGE
    )
    assert f"may be between {100 * risk['low']:.0f} and {100 * risk['high']:.0f} %." in PAGE
    assert "drugs" in card.used_attributes


def test_the_mean_that_is_read_is_the_largest_of_the_tree():
    days = loaded("days")
    largest = max(days.predictions)
    rows = re.fullmatch(r"about (\S+) rows", note(days, f"{largest:.1f}"))[1]
    assert days.conditions[days.predictions.index(largest)] == "ward = geriatrics"
    assert f"Patients of geriatrics stayed about {largest:.1f} days on average. There are about {rows} of them." in PAGE
