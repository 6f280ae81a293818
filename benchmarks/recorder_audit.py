"""Pairs of neighbouring tables: a call is recorded on a table by dp-recorder, and replayed on its neighbours."""

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import exp, pi

import numpy as np
from recorder import log_chances
from recorder_distances import distance
from scipy.optimize import brentq
from scipy.stats import norm

from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import GaussianCounts, Siblings
from hedgerow.privacy.peeling import GumbelPeeling

REACHED = 0.99
"""The share of the declared sensitivity from which on it counts as reached; a Gini score only approaches it."""
_SLACK = 1 + 1e-9


@dataclass
class Kind:
    """A kind of release of a call, with the largest distances and losses that were measured."""

    query: str
    mechanism: str
    releases: int = 0
    declared: float = 0.0  # at the largest distance
    largest: float = 0.0
    share: float = 0.0  # the largest distance in units of the declared sensitivity
    loss: float = 0.0  # the largest loss of its draws in units of the allowed loss


@dataclass
class Result:
    """The result of all pairs of a call."""

    kinds: dict = field(default_factory=dict)
    pairs: int = 0
    draws: int = 0
    differences: Counter = field(default_factory=Counter)  # of control flow, by their reason
    violations: Counter = field(default_factory=Counter)  # by the check that found them
    loss: float = 0.0  # the largest loss of a run, in units of the charged loss

    @property
    def is_flagged(self):
        return bool(self.differences or self.violations)


@dataclass(frozen=True)
class Published:
    """The published values of a run, as text, with the charged ε and δ; ε is None if the card has no guarantee."""

    text: str
    epsilon: float | None
    delta: float = 0.0


def audit_pairs(recorder, call, table, neighbours, result):
    """Record a call on a table, replay it on each neighbour, and add the measurements to the result."""
    auditor = recorder.primitives.Auditor()
    with auditor:
        published = _run(recorder, call, table)
    for neighbour in neighbours:
        result.pairs += 1
        auditor.set_replay()
        for entry in auditor.log:
            entry.inputs_dp = None
        try:
            with auditor:
                _run(recorder, call, neighbour)
        except (AssertionError, RuntimeError) as problem:
            result.differences[str(problem).partition("\n")[0][:60]] += 1
        else:
            if auditor._cursor < len(auditor.log):
                result.differences["fewer calls in the replay"] += 1
        try:
            auditor.validate_records()
        except AssertionError as problem:
            result.violations.update({line.partition("(")[2].partition(")")[0] for line in str(problem).split("\n")})
        _measure([entry for entry in auditor.log if entry.inputs_dp is not None], published, result)


def _run(recorder, call, table):
    """Run a call. Its published values and its warnings must be equal in all runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        published = call(table)
    recorder.primitives.ensure_equality(result=published)
    recorder.primitives.ensure_equality(result=sorted(str(warning.message) for warning in caught))
    return published


def _measure(entries, published, result):
    """Add the distances of the releases and the losses of the draws of a replay."""
    losses, paths, choices = defaultdict(float), defaultdict(float), defaultdict(float)
    for entry in entries:
        if entry.kind == "EQ":
            continue
        first, second = entry.inputs_d["values"], entry.inputs_dp["values"]
        release = entry.params["release"]
        if entry.kind == "draw":
            result.draws += 1
            loss = entry.metric_fn(first, second)
            losses[release] += loss
            each = release.mechanism.each if isinstance(release.mechanism, Siblings) else release.mechanism
            if isinstance(each, ModelDraw | JointQuantiles):
                # The log-ratios of the choices of a draw add up, and none alone exceeds the ε of the draw.
                one, other = log_chances(first["input"]), log_chances(second["input"])
                paths[release] += float(one[entry.output_d] - other[entry.output_d])
                choices[release] = max(choices[release], loss)
        else:
            _add_distance(release, distance(release.mechanism, first["input"], second["input"]), result)
    losses.update({release: max(abs(loss), choices[release]) for release, loss in paths.items()})
    for release, loss in losses.items():
        kind = result.kinds[_key(release)]
        kind.loss = max(kind.loss, loss / release.allowed)
        if loss > release.allowed * _SLACK + 1e-9:
            result.violations[f"the draws of {type(release.mechanism).__name__}"] += 1
    if published.epsilon is not None:
        share = _total(losses, published) / published.epsilon
        result.loss = max(result.loss, share)
        if share > _SLACK:
            result.violations["all draws together"] += 1


def _key(release):
    mechanism = release.mechanism
    each = f" of {type(mechanism.each).__name__}" if isinstance(mechanism, Siblings) else ""
    by = release.query.get("by") or release.query.get("of")
    query = release.query.code + (f" by {by}" if isinstance(by, str) else "")
    return query, type(mechanism).__name__ + each


def _add_distance(release, measured, result):
    kind = result.kinds.setdefault(_key(release), Kind(*_key(release)))
    kind.releases += 1
    share = measured / release.sensitivity
    if share >= kind.share:
        kind.declared, kind.largest, kind.share = release.sensitivity, measured, share


def _total(losses, published):
    """Return the ε of all draws of a run at the charged δ: ε adds up, and Gaussian answers by their μ²."""
    pure = sum(loss for release, loss in losses.items() if not isinstance(release.mechanism, GaussianCounts))
    squares = 0.0
    for release, loss in losses.items():
        if isinstance(release.mechanism, GaussianCounts):
            in_gdp = isinstance(release.mechanism, GumbelPeeling) and not release.mechanism.adds_up_rho
            squares += 2 * loss * (pi / 2 if in_gdp else 1)
    return pure + (_gaussian_epsilon(np.sqrt(squares), published.delta) if squares else 0.0)


def _gaussian_epsilon(mu, delta):
    """Return the ε at which μ-GDP has this δ (Dong, Roth and Su 2022, Corollary 1)."""

    def excess(epsilon):
        return norm.cdf(-epsilon / mu + mu / 2) - exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2) - delta

    return brentq(excess, 0, 500) if delta and excess(0) > 0 else (0.0 if delta else np.inf)
