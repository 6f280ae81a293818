"""A schema of one boolean attribute, and cards of models with noisy counts."""

from fractions import Fraction

from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Label, Literal, Schema

SCHEMA = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
SMOKER = Literal("smoker", "true")


def card(epsilon, purpose="counts of the leaves by class"):
    mechanism = str(DiscreteLaplace(Fraction(epsilon)))
    charges = (Charge("draw of the tree", Fraction(1)), Charge(purpose, Fraction(epsilon), mechanism=mechanism))
    return PrivacyCard(charges, noise="OpenDP", software="hedgerow")
