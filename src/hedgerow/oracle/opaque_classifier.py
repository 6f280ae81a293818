"""Opaque classifiers: hypotheses that run their own code on private rows, so that answers carry no guarantee."""

import warnings
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.hypothesis import class_codes, codes_of
from hedgerow.hypotheses.read import READABLE
from hedgerow.tables.frames import Table

OPAQUE_REASON = (
    "a hypothesis was evaluated by its own code, which sees the private rows, and whose prediction for one row can "
    "depend on the others"
)
"""The reason why answers about such a hypothesis carry no guarantee."""


@dataclass(frozen=True, repr=False, eq=False)
class OpaqueClassifier:
    """A hypothesis whose own ``predict`` is called on the private rows."""

    hypothesis: Any  # a copy: the validated state is the one evaluated, and rows that it stores are not handed back
    classes: tuple[Any, ...]  # the two classes

    def codes(self, table: Table) -> NDArray[np.int64]:
        # -1 for no class, also where the hypothesis fails: an error or warning would disclose the row without noise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._codes(table, np.arange(len(table)))

    def _codes(self, table: Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Predict all rows together; on failure by bisection, down to the row that fails."""
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        try:
            return codes_of(self.hypothesis.predict(table.take(rows)), self.classes, len(rows))
        except Exception:
            if len(rows) == 1:
                return np.array([-1])
        return np.concatenate([self._codes(table, half) for half in np.array_split(rows, 2)])


def opaque_classifier(
    hypothesis: Any, probe_rows: Table, classes: tuple[Any, ...], *, allowed: bool
) -> OpaqueClassifier:
    if not callable(getattr(hypothesis, "predict", None)) or isinstance(hypothesis, type):
        raise HypothesisError(f"expected a fitted model with predict(X), got {type(hypothesis).__name__}.")
    if not allowed:
        raise HypothesisError(
            f"Expected one of: {READABLE}; got a {type(hypothesis).__name__}, whose own code is not run on private "
            "rows, since it could store them, or make predictions depend on other rows. A curator who trusts the code "
            "can set run_code=True; answers then carry no guarantee."
        )
    try:
        copied = deepcopy(hypothesis)
    except Exception as error:
        raise HypothesisError(f"the hypothesis cannot be copied: {type(error).__name__}: {error}") from error
    _try_out(copied, probe_rows, classes)
    return OpaqueClassifier(copied, classes)


def _try_out(hypothesis: Any, rows: Table, classes: tuple[Any, ...]) -> None:
    try:
        found = codes_of(hypothesis.predict(rows.take(np.arange(len(rows)))), classes, len(rows))
        alone = [codes_of(hypothesis.predict(rows.take(np.array([i]))), classes, 1)[0] for i in range(len(rows))]
    except HypothesisError:
        raise
    except Exception as error:
        problem = f"the hypothesis fails on probe rows, which are public: {type(error).__name__}: {error}"
        raise HypothesisError(problem) from error
    class_codes([None if code < 0 else classes[code] for code in found], classes)
    if not np.array_equal(found, alone):
        problem = "expected predictions that depend on one row each, got some that change with the other rows."
        raise HypothesisError(problem)
