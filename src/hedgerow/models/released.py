"""Released models of estimators."""

from typing import Any, TypeGuard

from hedgerow.errors import ArgumentTypeError
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.model import Model
from hedgerow.models.scorecard import Scorecard

_FITTED = ("rule_list_", "tree_", "scorecard_", "model_")  # the attributes of estimators that have their models


def is_model(value: object) -> TypeGuard[Model]:
    return isinstance(value, Model)


def released_models(estimator: Any) -> tuple[Model, ...]:
    """Return the model itself, or the models in the instance attributes of a fitted estimator."""
    if is_model(estimator):
        return (estimator,)
    own = getattr(estimator, "__dict__", {})  # no properties, which can be foreign code
    return tuple(model for model in map(own.get, _FITTED) if is_model(model))


def released_model(estimator: Any) -> Model | None:
    return next(iter(released_models(estimator)), None)


def released_leaf_model(estimator: Any) -> LeafModel | None:
    model = released_model(estimator)
    return None if model is None else leaf_model(model)


def released_scorecard(estimator: Any) -> Scorecard:
    for model in released_models(estimator):
        if isinstance(model, Scorecard):
            return model
    raise ArgumentTypeError(f"expected a scorecard or an estimator with a scorecard, got {type(estimator).__name__}.")


def leaf_model(model: Model) -> LeafModel:
    if isinstance(model, LeafModel):
        return model
    raise ArgumentTypeError(
        f"expected a model with leaves, got a {model.kind}, which {model.decides_by} and has no leaves. To count the "
        "rows of its bins, use `hedgerow report --data` (`Report.of` with train=). To measure the disclosure, use "
        "`audit.reconstruction`, pass its estimator to `audit.membership`, or its method `predict` to `audit.overfit`."
    )
