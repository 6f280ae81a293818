"""The callers of a fit: the line for a warning, and scikit-learn utilities that use rows without a charge.

scikit-learn has no hook that distinguishes a search from a direct call: tags, clones and metadata routing are the same.
Its functions and classes are recognised on the stack by their public names, and derived classes by their bases.
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
    "an earlier step of the pipeline is fitted on these rows. The guarantee does not cover the parameters that a "
    "scaler, imputer or discretiser learns. Remove such steps, and declare bounds, cuts and `missing` in the schema."
)
_SEARCHED = (
    "a search selects by exact scores on these rows, which the guarantee does not cover. Search on public rows, or "
    "select by scores that hedgerow.evaluate releases."
)
_SCORED = (
    "cross-validation scores the model on exact rows, and the guarantee does not cover the scores. Cross-validate on "
    "public rows, or score each fit by hedgerow.evaluate."
)
_STACKED = (
    "another estimator learns from predictions on these rows, and the guarantee does not cover it. Fit it on public "
    "rows."
)
_UNACCOUNTED = {
    **dict.fromkeys(("BaseSearchCV", "RFECV", "SequentialFeatureSelector", "TunedThresholdClassifierCV"), _SEARCHED),
    **dict.fromkeys(("cross_validate", "learning_curve", "validation_curve", "permutation_test_score"), _SCORED),
    **dict.fromkeys(
        ("cross_val_predict", "CalibratedClassifierCV", "StackingClassifier", "StackingRegressor"), _STACKED
    ),
}


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning for the first line of the stack outside of this package."""
    places = zip(count(1), _frames(inspect.currentframe()))
    outside = (level for level, frame in places if not frame.f_code.co_filename.startswith(_SOURCE))
    warnings.warn(message, category, stacklevel=next(outside, 1))


def unaccounted() -> list[str]:
    """Return messages about what scikit-learn's callers learn from the rows without a charge."""
    messages = set[str]()
    for frame in _frames(inspect.currentframe()):
        name = frame.f_code.co_name
        if name in _UNACCOUNTED and _is_scikit_learn(frame.f_globals.get("__name__")):
            messages.add(_UNACCOUNTED[name])
        elif name.startswith("fit"):
            messages |= _messages_about(inspect.getargvalues(frame).locals.get("self"))
    return sorted(messages)


def _messages_about(caller: object) -> set[str]:
    """Return the messages about a caller whose class is scikit-learn's or derived from it."""
    classes = {kind.__name__ for kind in type(caller).__mro__ if _is_scikit_learn(kind.__module__)}
    messages = {_UNACCOUNTED[name] for name in classes & _UNACCOUNTED.keys()}
    return messages | {_PREPARED} if "Pipeline" in classes and _has_fitted_steps(caller) else messages


def _is_scikit_learn(module: object) -> bool:
    return str(module).startswith("sklearn.")


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _has_fitted_steps(pipeline: Any) -> bool:
    from sklearn.utils import get_tags

    return any(get_tags(step).requires_fit for _, step in pipeline.steps[:-1] if hasattr(step, "transform"))
