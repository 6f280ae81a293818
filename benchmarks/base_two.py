"""Exact arithmetic in base 2.

A lower bound on the cost of a draw in exact arithmetic in base 2, in which a model has the weight 2^-loss, hence one
bit per row.

Only unavoidable operations are timed, with Python's integers: for each box with one choice left the sum of its options,
and for each box above it the products of their two branches. Lists add up the options of every box, and multiply by a
leaf, a power of 2, at no cost. The table compares this with an actual draw; neither includes counting rows. One core.

{results/base_two.csv}
"""

import random
from fractions import Fraction
from time import process_time

from league_tables import TABLES
from measure import median_seconds, report

import hedgerow as hr
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.privacy.exponential_mechanism import gumbel_choice
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Candidates

TIMES, PRIOR = 20, StopPrior.constant(0.1)


def main():
    frame, labels, schema = TABLES["adult"]()
    tally = hr.Tally.count(frame, labels, schema)
    spaces = {"tree": Space.of_trees(schema), "list": Space.of_lists(Candidates.of(schema, 1))}
    report("base_two", [compared(kind, Draw(space, 3, PRIOR), tally) for kind, space in spaces.items()])


def compared(kind, plan, tally):
    rows, options, boxes = int(tally.total().sum()), plan.space.n_options, plan.states()
    above = sum(boxes.sizes.count(choices) for choices in range(plan.depth - 1))
    last = boxes.sizes.count(plan.depth - 1)
    weights = [1 << random.Random(i).randrange(rows // 2, rows) for i in range(options)]
    products = above * options * seconds(lambda: weights[0] * (weights[1] - 1)) if kind == "tree" else 0
    exact = (above * (kind == "list") + last) * seconds(lambda: sum(weights)) + products
    sampler, choose = ModelSampler(tally, plan, boxes, lambda _: None), gumbel_choice()
    now = median_seconds(lambda: sampler.sample(float(plan.mechanism(Fraction(1)).weight), choose))
    return {"model": kind, "boxes": last, "draw": f"{now:.2f}", "base 2": f"{exact:.1f}", "times": f"{exact / now:.0f}"}


def seconds(work):
    start = process_time()
    for _ in range(TIMES):
        work()
    return (process_time() - start) / TIMES


if __name__ == "__main__":
    main()
