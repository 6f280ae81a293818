"""Counting possible rows of rule lists.

All regions of a random rule list, each rule of three literals over 40 attributes: processor seconds, the median of ten
lists, and the slowest list. *In one go*: hedgerow's method for lists. *Region by region*: its method for a single
region. *Recursion*: PDR's eq. 13 and 15 without the terms of disjoint boxes. A cell is empty if the ten lists did not
finish within minutes.

{worlds}

The problem is #P-complete, and time eventually grows exponentially: on attributes of 2 to 6 bins the slowest list of 60
rules takes {slowest_lists} times as long as the slowest of 50. Learned lists overlap far less than random lists.
"""

import random
import statistics
import time
from math import prod

from measure import report

from hedgerow.audit.counting.bin_values import bin_weights
from hedgerow.audit.counting.outside import BoxCounter
from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers.read import paths_of
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

CARD = PrivacyCard.none("benchmark", software="hedgerow")
LABEL = Label("y", (False, True))
LENGTHS = {"booleans": (10, 20, 50, 100, 200), "2 to 6 bins": (10, 20, 50, 60)}
# How long a list each way is asked to count at most: more takes minutes.
ONE_BY_ONE = {"booleans": 200, "2 to 6 bins": 20}
RECURSION = {"booleans": 20, "2 to 6 bins": 10}


def booleans(rng):
    schema = Schema({f"x{i}": Boolean() for i in range(40)}, LABEL)
    return schema, lambda name: Literal(name, rng.choice(("true", "false")))


def mixed(rng):
    attributes = {}
    for i in range(40):
        n_bins = rng.randint(2, 6)
        cuts = tuple(sorted(rng.sample(range(1, 99), n_bins - 1)))
        attributes[f"x{i}"] = Categorical(tuple("abcdef"[:n_bins])) if i % 2 else Integer(0, 99, cuts=cuts)
    schema = Schema(attributes, LABEL)

    def literal(name):
        attribute = schema[name]
        if isinstance(attribute, Integer):
            return Literal(name, "<=", (rng.choice(attribute.cuts),))
        return Literal(name, rng.choice(("=", "!=")), (rng.choice(attribute.known_bins),))

    return schema, literal


KINDS = {"booleans": booleans, "2 to 6 bins": mixed}


def random_list(kind, n_rules, seed):
    rng = random.Random(seed)
    schema, literal = KINDS[kind](rng)
    antecedents = [tuple(map(literal, rng.sample(schema.names, 3))) for _ in range(n_rules)]
    return RuleList(schema, tuple(Rule(a, label=True) for a in (*antecedents, ())), CARD)


def one_by_one(regions, weights):
    counter = BoxCounter(weights, most=len(regions))
    return tuple(counter.outside(region.box, region.earlier) for region in regions)


def recursion(regions, weights):
    """PDR eq. 15, with eq. 13 for what an earlier rule takes of a box, but without the terms of disjoint rules."""

    def captured(earlier, box):
        both = [tuple(a & b for a, b in zip(other, box, strict=True)) for other in earlier]
        meeting = [box for box in both if all(box)]
        held = (sum(w for i, w in enumerate(c) if mask >> i & 1) for mask, c in zip(box, weights, strict=True))
        return prod(held) - sum(captured(meeting[:i], item) for i, item in enumerate(meeting))

    return tuple(captured(region.earlier, region.box) for region in regions)


def seconds(call, *arguments):
    start = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - start


def main():
    rows = []
    for kind, lengths in LENGTHS.items():
        ways = {count_rows_each: lengths[-1], one_by_one: ONE_BY_ONE[kind], recursion: RECURSION[kind]}
        for n_rules in lengths:
            times = {way: [] for way in ways}
            for seed in range(10):
                model = random_list(kind, n_rules, seed)
                regions = Domain.of(model.schema).regions(paths_of(model)[0])
                weights = bin_weights(model.schema)
                expected = count_rows_each(regions, weights)
                assert sum(expected) == Domain.of(model.schema).possible_rows
                for way, longest in ways.items():
                    if n_rules <= longest:
                        result, taken = seconds(way, regions, weights)
                        assert result == expected
                        times[way].append(taken)
            medians = {way: f"{statistics.median(taken):.4f}" if taken else "" for way, taken in times.items()}
            rows.append(
                {
                    "attributes": kind,
                    "rules": n_rules,
                    "in one go": medians[count_rows_each],
                    "slowest": f"{max(times[count_rows_each]):.4f}",
                    "region by region": medians[one_by_one],
                    "recursion": medians[recursion],
                }
            )
            print(rows[-1], flush=True)
    report("worlds", rows)


if __name__ == "__main__":
    main()
