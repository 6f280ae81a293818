"""hedgerow under dp-recorder: every release, and every draw of noise, wrapped from outside.

`load` reads dp-recorder from a path. `wrapped` wraps four places of hedgerow while it is open: the gate, through which
every release goes; OpenDP's measurements, which draw nearly all noise; and the samplers that OpenDP does not have.
"""

import sys
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib import import_module
from math import inf, sqrt
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np
from opendp.mod import Measurement
from recorder_distances import change_of, distance, gauge_of_equal_totals, inputs, l1, l2, linf, monotone
from scipy.special import log_softmax

from hedgerow.engines import contributions as engine_contributions
from hedgerow.learn.ssrl.mechanisms import NoisyMin
from hedgerow.oracle.release_forms import PublishedRatios
from hedgerow.privacy import shared_histograms
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import GaussianCounts, PermuteAndFlip, Siblings
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.schema import contributions

_RELEASE = ContextVar("release", default=None)


def load(source):
    """Return the modules of dp-recorder in a folder with its source, without its plots and its distributional audit."""
    folder = next(path for path in (Path(source) / "src" / "dp_recorder", Path(source)) if (path / "auditing").is_dir())
    package = ModuleType("dp_recorder")
    package.__path__ = [str(folder.resolve())]
    accounting = ModuleType("dp_accounting.pld")
    accounting.privacy_loss_distribution = None  # only its distributional audit uses it
    absent = {"dp_recorder": package, "dp_accounting": ModuleType("dp_accounting"), "dp_accounting.pld": accounting}
    for name, module in absent.items():
        sys.modules.setdefault(name, module)
    names = {"primitives": "audit_primitives", "neighbours": "dataset_util", "metrics": "metrics"}
    return SimpleNamespace(
        **{key: import_module(f"dp_recorder.auditing.{module}") for key, module in names.items()},
    )


@dataclass(eq=False)
class Release:
    """A call of the gate during a run: a query, its mechanism, and the rows that a unit of privacy counts as."""

    query: object
    mechanism: object
    rows: int
    text: str = field(init=False)

    def __post_init__(self):
        self.text = f"{self.query!r} by {self.mechanism!r} for {self.rows} rows"

    def __repr__(self):
        return self.text

    def __deepcopy__(self, _):
        return self

    @property
    def sensitivity(self):
        own = float(self.mechanism.sensitivity)
        return own if isinstance(self.mechanism, GaussianCounts) else own * self.rows

    @property
    def allowed(self):
        """The loss that the mechanism may have: ρ of an answer of a Gaussian series, otherwise ε."""
        if isinstance(self.mechanism, GaussianCounts):
            return float(self.mechanism.information / 2)
        return float(self.mechanism.epsilon) * self.rows


@dataclass(eq=False)
class Draw:
    """A sampler that runs once, with a function that returns the privacy loss of two inputs by its own parameters."""

    run: object
    loss: object
    text: str

    def __repr__(self):
        return self.text

    def __deepcopy__(self, _):
        return self


def _release_distance(first, second):
    return distance(first["release"].mechanism, first["input"], second["input"])


def _draw_loss(first, second):
    change = change_of(first["input"], second["input"])
    return inf if change is None else first["draw"].loss(first["input"], second["input"])


def _opendp(measurement, release):
    """Return the draw of an OpenDP measurement. Its loss is OpenDP's own at the measured distance, or exact."""
    metric, is_pure = str(measurement.input_metric), "MaxDivergence" in str(measurement.output_measure)
    is_float = "f64" in metric or metric.startswith("L2")
    scale_text = f"{metric} {measurement.output_measure} {measurement.map(1.0 if is_float else 1)}"
    if metric.startswith("LInf") and not is_pure and not isinstance(release.mechanism, GumbelPeeling):
        scale = (1 if "monotonic" in metric else 2) / sqrt(8 * measurement.map(1.0 if is_float else 1))
        sign = -1 if isinstance(release.mechanism, PermuteAndFlip | Siblings) else 1
        return Draw(measurement, lambda *pair: _log_ratios(*pair, sign / scale), scale_text)
    norm = {"L1": l1, "L2": l2, "LI": monotone if "monotonic" in metric else linf}[metric[:2]]

    def loss(first, second):
        moved = norm(second - first, None)
        return inf if moved == inf else measurement.map(moved if is_float else round(moved))

    return Draw(measurement, loss, scale_text)


def log_chances(scores, factor=1.0):
    return log_softmax(np.asarray(scores, dtype=float) * factor)


def _log_ratios(first, second, factor):
    """Return the largest log-ratio of the probabilities of an option of a choice by Gumbel noise."""
    one, other = log_chances(first, factor), log_chances(second, factor)
    possible = np.isfinite(one) | np.isfinite(other)
    return float(np.abs(one[possible] - other[possible]).max(initial=0))


class Wrapped:
    """hedgerow's gate and samplers, whose calls go through the active auditor of dp-recorder."""

    def __init__(self, recorder):
        primitives = recorder.primitives
        self._active = primitives._active_auditor

        @cache
        def observer(kind):
            spec = primitives.audit_spec(kind, "values", "sensitivity", _release_distance)
            return spec(lambda values, sensitivity, release: None)  # noqa: ARG005 -- their names are the interface

        self._observer = observer
        spec = primitives.audit_spec("draw", "values", "allowed", _draw_loss)
        self._draw = spec(lambda values, allowed, draw, release: draw.run(values["run on"]))  # noqa: ARG005

    def release(self, original):
        """Return the gate's method, whose private input is recorded after it was computed."""

        def release(gate, mechanism, answer, *, query, no_guarantee=()):
            if self._active.get() is None:
                return original(gate, mechanism, answer, query=query, no_guarantee=no_guarantee)
            made = Release(query, mechanism, gate.rows)

            def observed():
                values = answer()
                recorded = {"input": inputs(mechanism, values), "release": made}
                self._observer(type(mechanism).__name__)(recorded, made.sensitivity, made)
                return values

            token = _RELEASE.set(made)
            try:
                return original(gate, mechanism, observed, query=query, no_guarantee=no_guarantee)
            finally:
                _RELEASE.reset(token)

        return release

    def drawn(self, values, make, run):
        """Return the result of a draw, which is frozen in a replay; `make` returns the draw for a release."""
        if self._active.get() is None:
            return run(values)
        release = _RELEASE.get()
        if release is None:
            raise AssertionError("noise was drawn outside of the gate")
        made = make(release)
        made.run = self._alone(run)
        array = values if isinstance(values, tuple) else np.array(values)
        given = {"input": np.array(values[0]) if isinstance(values, tuple) else array, "run on": values, "draw": made}
        result = self._draw(given, release.allowed, made, release)
        return list(result) if isinstance(result, list) else result

    def _alone(self, run):
        """Return a function that runs without the auditor, which sees the draw as a whole."""

        def alone(values):
            token = self._active.set(None)
            try:
                return run(values)
            finally:
                self._active.reset(token)

        return alone

    def measurement(self, original):
        def call(measurement, values):
            return self.drawn(values, lambda release: _opendp(measurement, release), lambda x: original(measurement, x))

        return call

    def k_norm(self, original):
        """Return K-norm noise, whose loss is the gauge times the ε of a step that its geometric draws really have."""

        def release(mechanism, histograms, uniform):
            used = set()

            def geometric(numerator, denominator, source, draw=shared_histograms._geometric):
                used.add(Fraction(numerator, denominator))
                return draw(numerator, denominator, source)

            def run(values):
                with patch.object(shared_histograms, "_geometric", geometric):
                    return original(mechanism, values, uniform)

            def loss(first, second):
                return gauge_of_equal_totals(second - first, mechanism) * mechanism.grid * float(max(used))

            return self.drawn(histograms, lambda _: Draw(None, loss, f"K-norm {mechanism.sizes}"), run)

        return release

    def published(self, original):
        """Return mechanisms without a proof as a whole; only the distance of their inputs is measured."""

        def build(mechanism):
            run = original(mechanism)
            return lambda values: self.drawn(values, lambda _: Draw(None, lambda *_: 0.0, "published"), run)

        return build


@contextmanager
def wrapped(recorder):
    """Wrap hedgerow for dp-recorder. The secret key that selects the rows of a unit is the same in all runs."""
    made = Wrapped(recorder)
    places = [
        (Gate, "release", made.release),
        (Measurement, "__call__", made.measurement),
        (SharedHistograms, "_release", made.k_norm),
        (NoisyMin, "build", made.published),
        (PublishedRatios, "build", made.published),
    ]
    with ExitStack() as stack:
        for owner, name, wrap in places:
            stack.enter_context(patch.object(owner, name, wrap(getattr(owner, name))))
        same = SimpleNamespace(token_bytes=bytes, token_hex=lambda size: "00" * size)
        for module in (contributions, engine_contributions):
            stack.enter_context(patch.object(module, "secrets", same))
        yield
