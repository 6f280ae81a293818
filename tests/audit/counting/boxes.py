"""Regions of small domains, and what they hold, row by row."""

import random
from itertools import product
from math import prod

from hypothesis import strategies as st

from hedgerow.audit.counting.regions import Region
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers.read import paths_of
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Literal, Schema

CARD = PrivacyCard.none("example", software="hedgerow")


LABEL = Label("y", (False, True))


def contains(box, row):
    return all(mask >> bin & 1 for mask, bin in zip(box, row, strict=True))


def enumerated(region, weights):
    """Look at every row of bins: too simple to be wrong."""
    rows = product(*(range(len(bins)) for bins in weights))
    inside = [row for row in rows if contains(region.box, row) and not any(contains(b, row) for b in region.earlier)]
    return sum(prod(bins[bin] for bins, bin in zip(weights, row, strict=True)) for row in inside)


@st.composite
def domains(draw):
    weights = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)
    return tuple(draw(st.lists(weights, min_size=1, max_size=6)))


@st.composite
def regions(draw, most=7):
    """Boxes that speak of one to three attributes each, so that components, chains and free attributes occur."""
    weights = draw(domains())

    def box():
        full = [(1 << len(bins)) - 1 for bins in weights]
        for i in draw(st.sets(st.integers(0, len(weights) - 1), max_size=3)):
            full[i] = draw(st.integers(0, full[i]))
        return tuple(full)

    return Region(box(), tuple(box() for _ in range(draw(st.integers(0, most))))), weights


def bit_list(n_bits, n_rules, seed):
    """Return a list of rules of three literals over bits."""
    rng = random.Random(seed)
    schema = Schema({f"x{i}": Boolean() for i in range(n_bits)}, LABEL)
    chosen = [rng.sample(schema.names, 3) for _ in range(n_rules)]
    antecedents = [tuple(Literal(name, rng.choice(("true", "false"))) for name in names) for names in chosen]
    return RuleList(schema, tuple(Rule(a, label=True) for a in (*antecedents, ())), CARD)


def regions_of(model):
    paths, schema = paths_of(model)
    return Domain.of(schema).regions(paths)
