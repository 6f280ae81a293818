"""Pipelines of scikit-learn, nested as they may be: the model at their end, and the steps before it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from hedgerow.errors import ArgumentError


def last_step(model: Any, features: Any) -> tuple[Any, Any]:
    """Return the model at the end of pipelines, and what its columns are: the steps before it, if some do anything.

    Raises
    ------
    ValueError
        If the steps say what the columns are, and `features` does too.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> last_step(make_pipeline("passthrough", "tree"), None)
    ('tree', None)
    >>> [step for _, step in last_step(make_pipeline(make_pipeline(MinMaxScaler(), "tree")), None)[1].steps]
    [MinMaxScaler()]
    """
    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    before = [step for step in before if not is_idle(step)]
    if not before:
        return model, features
    if features is not None:
        raise ArgumentError("expected no features=, since the pipeline's own steps say what its columns are.")
    return model, make_pipeline(*before)


def first_step(transformer: Any) -> Any:
    """Return the part of a transformer that was fitted on the table itself; None if it leaves the table as it is."""
    while isinstance(transformer, Pipeline):
        transformer = next((step for _, step in transformer.steps if not is_idle(step)), None)
    return None if is_idle(transformer) else transformer


def is_idle(step: Any) -> bool:
    """Return whether a step leaves the table as it is, and knows nothing of it: not even its columns."""
    if isinstance(step, Pipeline):
        return all(is_idle(part) for _, part in step.steps)
    return step is None or (isinstance(step, str) and step == "passthrough")
