"""The callers of a fit: the line that a warning names, and what scikit-learn learns around a fit without a charge.

scikit-learn has no hook that says by whom an estimator is fitted: tags, clones and metadata routing are the same for a
search and for a user. Its functions and classes are recognised on the stack by their public names, and classes that
other packages derive from them by their bases.
"""

import inspect
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

_SOURCE = str(Path(__file__).parents[1])
_PREPARED = (
    "an earlier step of the pipeline is fitted on these rows. No charge and no card has what a scaler, imputer or "
    "discretiser learns from rows: leave such steps out, and declare bounds, cuts and `missing` in the schema."
)
_SEARCHED = (
    "a search chooses by exact scores of these rows, which no charge and no card has. Search on public rows, or choose "
    "by scores that hedgerow.evaluate releases."
)
_SCORED = (
    "cross-validation scores the model on exact rows, and no charge or card covers the scores. Cross-validate on "
    "public rows, or score each fit by hedgerow.evaluate."
)
_STACKED = (
    "another estimator learns from predictions on exact rows, and no charge or card covers what it learns. Fit it on "
    "public rows."
)
_UNACCOUNTED = {
    **dict.fromkeys(("BaseSearchCV", "RFECV", "SequentialFeatureSelector", "TunedThresholdClassifierCV"), _SEARCHED),
    **dict.fromkeys(("cross_validate", "learning_curve", "validation_curve", "permutation_test_score"), _SCORED),
    **dict.fromkeys(
        ("cross_val_predict", "CalibratedClassifierCV", "StackingClassifier", "StackingRegressor"), _STACKED
    ),
}


def warn(message: str, category: type[Warning]) -> None:
    """Warn of a fit; the warning names the line outside of this package that asked for it."""
    places = zip(count(1), _frames(inspect.currentframe()))
    outside = (level for level, frame in places if not frame.f_code.co_filename.startswith(_SOURCE))
    warnings.warn(message, category, stacklevel=next(outside, 1))


def unaccounted() -> list[str]:
    """Return what scikit-learn's callers learn from the rows without a charge: fitted steps, scores, predictions."""
    found = set[str]()
    for frame in _frames(inspect.currentframe()):
        name = frame.f_code.co_name
        if name in _UNACCOUNTED and _is_scikit_learn(frame.f_globals.get("__name__")):
            found.add(_UNACCOUNTED[name])
        elif name.startswith("fit"):
            found |= _learned_around(inspect.getargvalues(frame).locals.get("self"))
    return sorted(found)


def _learned_around(caller: object) -> set[str]:
    """Return what a caller learns if its class is scikit-learn's, or derived from it with a `fit` of its own."""
    classes = {kind.__name__ for kind in type(caller).__mro__ if _is_scikit_learn(kind.__module__)}
    found = {_UNACCOUNTED[name] for name in classes & _UNACCOUNTED.keys()}
    return found | {_PREPARED} if "Pipeline" in classes and _has_fitted_steps(caller) else found


def _is_scikit_learn(module: object) -> bool:
    return str(module).startswith("sklearn.")


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _has_fitted_steps(pipeline: Any) -> bool:
    from sklearn.utils import get_tags

    return any(get_tags(step).requires_fit for _, step in pipeline.steps[:-1] if hasattr(step, "transform"))
