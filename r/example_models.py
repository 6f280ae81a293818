"""Write the models of the package's examples: `python r/example_models.py`; tests hold the files against it."""

from fractions import Fraction
from pathlib import Path

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.models.model import Model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Number, Schema

FOLDER = Path(__file__).parent / "inst" / "extdata"
ATTRIBUTES = {
    "age": Integer(17, 90, cuts=(30, 45, 60), missing="bin"),
    "ward": Categorical(("surgery", "day clinic"), outside="bin"),
    "smoker": Boolean(),
}
ILL = Schema(ATTRIBUTES, Label("ill", ("no", "yes")))
STAY = Schema(ATTRIBUTES, Number("days", 0, 32))


def card(*queries: Fact) -> PrivacyCard:
    """Return the card of charges of ε = 1/2 each."""
    charges = tuple(Charge(query, Fraction(1, 2)) for query in queries)
    return PrivacyCard(charges, noise=Fact("text", text="OpenDP"), software=Fact("text", text="hedgerow"))


def models() -> dict[str, Model]:
    """Return a model for each file."""
    young, ward = Literal("age", "<=", (30,)), Literal("ward", "=", ("day clinic",))
    rules = (Rule((young, ward), (88, 5)), Rule((Literal("smoker", "true"),), (31, 74)), Rule((), (120, 41)))
    by_age = Split(Literal("age", ">", (60,)), Leaf((9, 38)), Leaf((40, 51)))
    root = Split(Literal("smoker", "true"), by_age, Leaf((190, 33)))
    parts = (
        AttributePoints("age", ((-4,), (-1,), (2,), (5,), (0,))),
        AttributePoints("smoker", ((-1,), (3,))),
    )
    stay = Split(ward, Leaf(label=1.5, mean=1.25, sums=(900, 40)), Leaf(label=9.5))
    return {
        "rules.json": RuleList(ILL, rules, card(Fact("text", text="rules"), Fact("leaf_counts", of="rules", number=3))),
        "tree.json": Tree(ILL, root, card(Fact("text", text="splits"), Fact("leaf_counts", of="leaves"))),
        "scorecard.json": Scorecard(ILL, (-2,), parts, 0.4, 0.2, card(Fact("histograms", of="classes", attributes=2))),
        "stay.json": Tree(STAY, stay, card(Fact("text", text="splits"), Fact("leaf_sums", of="leaves"))),
    }


if __name__ == "__main__":
    for name, model in models().items():
        model.save(FOLDER / name)
