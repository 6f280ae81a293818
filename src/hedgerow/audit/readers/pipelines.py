"""Pipelines of scikit-learn, possibly nested: the final model, and the steps before it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from hedgerow.errors import ArgumentError


def last_step(model: Any, features: Any) -> tuple[Any, Any]:
    """Return the final model of nested pipelines, and its features: the steps before it, if any changes the table."""
    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    before = [step for step in before if not is_idle(step)]
    if not before:
        return model, features
    if features is not None:
        raise ArgumentError("expected no `features=` with a Pipeline, whose steps define the columns; leave it out.")
    return model, make_pipeline(*before)


def first_step(transformer: Any) -> Any:
    """Return the part of a transformer that was fitted on the table itself; None if it does not change the table."""
    while isinstance(transformer, Pipeline):
        transformer = next((step for _, step in transformer.steps if not is_idle(step)), None)
    return None if is_idle(transformer) else transformer


def is_idle(step: Any) -> bool:
    """Return whether a step does not change the table, and stores nothing about it, not even its columns."""
    if isinstance(step, Pipeline):
        return all(is_idle(part) for _, part in step.steps)
    return step is None or (isinstance(step, str) and step == "passthrough")
