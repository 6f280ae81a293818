"""The benchmark of priors weighs trees as fits do, and its chosen rule is the default."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.page import ROOT

CHECK = """
from fractions import Fraction

import numpy as np
import prior

import hedgerow as hr
from hedgerow.privacy.stop_prior import STOP_RULE
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior

X, y, schema = prior.TABLES["iris"]()
tally, boxes = hr.Tally.count(X, y, schema), Boxes.of(Space.of_trees(schema), 2)
draws = prior.Draws(tally, boxes, 0.5, Loss.of("errors", 3))
default = STOP_RULE.prior(Fraction(1, 2))
chosen = prior.ByDepth(prior.RULES[prior.CHOSEN], 5, 0.5)
assert np.allclose([chosen.log_stop(depth) for depth in range(5)], [default.log_stop(depth) for depth in range(5)])
for stop in (StopPrior.constant(0.1), default):
    draws.use(stop)
    fit = Cubes(tally, boxes, all_models(0.5, stop))
    print(all(np.isclose(draws.total(left), fit.total(left), rtol=1e-12) for left in range(3)))
"""


@pytest.mark.statistics
def test_it_weighs_trees_as_fits_do_and_its_rule_is_the_default():
    # In a process of its own, as `measure` limits threads.
    command = [sys.executable, "-c", CHECK]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
