"""Mechanisms and learners of hedgerow that are broken on purpose, which the recorder must flag."""

from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from recorder_calls import CALLS, Call

from hedgerow import tally
from hedgerow.evaluation.evaluate import Histogram
from hedgerow.learn import blocks, plans
from hedgerow.learn.learned import LeafNumbers
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.scorecard import counts, fit
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.learn.ssrl.mechanisms import Exponential
from hedgerow.oracle import frame_rows
from hedgerow.oracle.oracle import Oracle
from hedgerow.privacy import noise, peeling
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.gini import Gini
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.schema import private_cuts
from hedgerow.schema.weights import Weight
from hedgerow.tally import Tally

SCALE, CLIP, BRANCH, TWICE = "noise too small", "clip left out", "branch on a private count", "row counted twice"


@dataclass(frozen=True)
class Control:
    """A break of a mechanism, and the call that uses the mechanism."""

    kind: str
    name: str
    call: Call
    owner: object
    attribute: str
    replacement: object  # from the original

    @contextmanager
    def broken(self):
        original = vars(self.owner)[self.attribute]
        with patch.object(self.owner, self.attribute, self.replacement(original)):
            yield


def _scaled(factor):
    """Return what multiplies the result of a function, or of a property, by a factor."""

    def of(original):
        if isinstance(original, property):
            return property(lambda self: factor(original.fget(self)))
        return lambda *inputs, **named: factor(original(*inputs, **named))

    return of


def _half(value):
    return value / 2


def _double(value):
    return 2 * value


def _doubled_tally(rows):
    return Tally(rows.schema, rows._bins, 2 * rows._counts)


def _doubled_sampler(original):
    return lambda self, rows, *others: original(self, _doubled_tally(rows), *others)


def _rows(table):
    return int(table.total().sum())


def _heavier_quantiles(original):
    def sampler(self, *inputs):
        heavier = copy(self)
        object.__setattr__(heavier, "weight", 2 * self.weight)
        return original(heavier, *inputs)

    return sampler


def _stops_with_few_rows(original):
    return lambda rows, space, most, choose: original(rows, space, most if _rows(rows) > 2 else 1, choose)


def _without_empty_candidates(original):
    return lambda self, caught, total: original(self, caught[caught.sum(axis=1) > 0], total)


def _without_empty_options(original):
    def draw(rows, plan, *others):
        space = plan.space
        caught = rows.class_counts(space.candidates)[space.options].sum(axis=1) > 0
        fewer = Space(space.candidates, space.options[caught], space.branches, space.root)
        return original(rows, replace(plan, space=fewer), *others)

    return draw


def _shallow_with_few_rows(original):
    return lambda rows, plan, *others: original(rows, replace(plan, depth=1 if _rows(rows) <= 2 else 2), *others)


def _labels_of_the_rows(original):
    def draw(plan, rows, *others):
        antecedents, _ = original(plan, rows, *others)
        return antecedents, tuple(rows.leaf_counts(antecedents).argmax(axis=1))

    return draw


def _enough_by_exact_rows(_):
    return lambda self, *_: _rows(self._tally) > 2


def _without_noise(original):
    def release(self, answer, query, *others):
        noisy = original(self, answer, query, *others)
        return answer() if query.code == "class_totals" else noisy

    return release


def _exact_shares(original):
    def associations(rows, _):
        exact = rows.total() + 1
        return original(rows, counts.in_steps(exact / exact.sum()))

    return associations


def _without_small_counts(original):
    def counted(self, *inputs):
        result = original(self, *inputs)
        return np.where(result > 2, result, 0)

    return counted


def _until_the_largest(original):
    def cut_counts(self, column):
        result = original(self, column)
        return result[: 1 + max(np.flatnonzero(result), default=0)]

    return cut_counts


def _both_sides(original):
    """Return leaf counts to which a row of the default rule contributes twice."""
    return lambda self, target, values, *others: original(self, target, lambda: 2 * values(), *others)


def _call(name):
    return next(call for call in CALLS if call.name == name)


def _unclipped(_):
    def encode(self, table):
        values = np.asarray(table.column(self.name, 0).values, dtype=float)
        return np.rint(values * self.levels / self.high).astype(np.int64)

    return encode


CONTROLS = [
    Control(SCALE, "discrete Laplace noise", _call("evaluation, tree"), noise, "_scale", _scaled(_half)),
    Control(SCALE, "permute-and-flip", _call("rule list, greedy, costs"), noise, "_scale", _scaled(_half)),
    Control(SCALE, "Gumbel choice", _call("rule list, greedy, zCDP budget"), noise, "_scale", _scaled(_half)),
    Control(
        SCALE,
        "discrete Gaussian noise",
        _call("oracle, Gaussian noise"),
        noise,
        "gaussian",
        lambda original: lambda sigma: original(sigma / 2),
    ),
    Control(SCALE, "peeling", _call("scorecard, peeled attributes"), peeling, "_peeling_scale", _scaled(_half)),
    Control(
        SCALE,
        "K-norm noise",
        _call("oracle, rows, classes"),
        SharedHistograms,
        "_step_epsilon",
        _scaled(lambda pair: (2 * pair[0], pair[1])),
    ),
    Control(
        SCALE,
        "draw of a model",
        _call("tree, drawn, costs"),
        ModelDraw,
        "build",
        lambda original: lambda self: original(replace(self, weight=2 * self.weight)),
    ),
    Control(SCALE, "joint quantiles", _call("cut points"), JointQuantiles, "sampler", _heavier_quantiles),
    Control(
        SCALE,
        "SSRL's exponential mechanism, a quarter",
        _call("SSRL, exponential mechanism"),
        Exponential,
        "weight",
        _scaled(lambda weight: 4 * weight),
    ),
    Control(
        CLIP,
        "rows of a person",
        _call("oracle, persons"),
        frame_rows,
        "counted",
        lambda _: lambda table, *_: np.ones(len(table), dtype=bool),
    ),
    Control(
        CLIP,
        "rows of a person",
        _call("tree, drawn, persons"),
        tally,
        "counted",
        lambda _: lambda table, *_: np.ones(len(table), dtype=bool),
    ),
    Control(
        CLIP,
        "rows of a person",
        _call("cut points, persons"),
        private_cuts,
        "counted_rows",
        lambda _: lambda table, *_: table,
    ),
    Control(CLIP, "weights", _call("rule list, greedy, weights"), Weight, "encode", _unclipped),
    Control(
        CLIP,
        "features of residuals",
        _call("scorecard, two classes"),
        counts,
        "_in_part",
        lambda _: lambda *_, **__: 100 * counts.IN_PART,
    ),
    Control(
        CLIP,
        "released shares of the classes",
        _call("scorecard, chosen attributes"),
        counts,
        "associations",
        _exact_shares,
    ),
    Control(BRANCH, "depth of a greedy tree", _call("tree, greedy"), plans, "grow_tree", _stops_with_few_rows),
    Control(BRANCH, "length of a greedy list", _call("rule list, greedy"), plans, "grow", _stops_with_few_rows),
    Control(
        BRANCH, "candidates without rows", _call("rule list, greedy"), Gini, "split_scores", _without_empty_candidates
    ),
    Control(BRANCH, "options without rows", _call("tree, drawn, counts"), blocks, "draw_model", _without_empty_options),
    Control(BRANCH, "depth of a draw", _call("tree, drawn, counts"), blocks, "draw_model", _shallow_with_few_rows),
    Control(
        BRANCH, "labels of the leaves", _call("rule list, drawn"), blocks.ListDrawPlan, "draw", _labels_of_the_rows
    ),
    Control(
        BRANCH,
        "residuals or none",
        _call("scorecard, three classes, little ε"),
        fit.Fit,
        "_is_enough",
        _enough_by_exact_rows,
    ),
    Control(BRANCH, "choice of model", _call("choice of model, by a count"), ReleaseRunner, "release", _without_noise),
    Control(BRANCH, "small cells left out", _call("evaluation by group"), Histogram, "_cells", _without_small_counts),
    Control(BRANCH, "small bins left out", _call("oracle, rows, classes"), Oracle, "_counted", _without_small_counts),
    Control(BRANCH, "range of cut points", _call("cut points"), private_cuts.PlannedCuts, "counts", _until_the_largest),
    Control(TWICE, "draw of a model", _call("rule list, drawn"), ModelSampler, "__init__", _doubled_sampler),
    Control(TWICE, "draws of subtrees", _call("tree, drawn in blocks"), ModelSampler, "__init__", _doubled_sampler),
    Control(TWICE, "Gini scores", _call("rule list, greedy"), Gini, "split_scores", _scaled(lambda x: 3 * x)),
    Control(TWICE, "counts of leaves", _call("tree, drawn, numbers"), LeafNumbers, "release", _both_sides),
    Control(TWICE, "histograms", _call("scorecard, three classes"), counts, "histograms", _scaled(_double)),
    Control(
        TWICE,
        "residuals",
        _call("scorecard, three classes"),
        counts.Residuals,
        "by_bin_and_class",
        _scaled(lambda x: 2 * x),
    ),
    Control(TWICE, "associations", _call("scorecard, peeled attributes"), counts, "associations", _scaled(_double)),
    Control(TWICE, "cells of an evaluation", _call("evaluation by score"), Histogram, "_cells", _scaled(_double)),
    Control(TWICE, "errors of an evaluation", _call("evaluation, numbers"), Histogram, "_numbers", _scaled(_double)),
    Control(TWICE, "bins of an answer", _call("oracle, number"), Oracle, "_counted", _scaled(_double)),
    Control(TWICE, "bins of an answer", _call("oracle, Gaussian noise"), Oracle, "_counted", _scaled(_double)),
    Control(
        TWICE, "rows between cut points", _call("cut points"), private_cuts.PlannedCuts, "counts", _scaled(_double)
    ),
]
