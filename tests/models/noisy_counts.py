"""A schema of one boolean attribute, and cards of models with noisy counts."""

from fractions import Fraction

from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Label, Literal, Schema

SCHEMA = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
SMOKER = Literal("smoker", "true")


COUNTS = Fact("leaf_counts", of="leaves")


def card(epsilon, query=COUNTS):
    mechanism = DiscreteLaplace(Fraction(epsilon)).record
    charges = (Charge("draw of the tree", Fraction(1)), Charge(query, Fraction(epsilon), mechanism=mechanism))
    return PrivacyCard(charges, noise="OpenDP", software="hedgerow")
