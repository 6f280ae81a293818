"""Hypotheses as the data that a curator's service takes."""

from __future__ import annotations

from typing import Any

from hedgerow.errors import HypothesisError
from hedgerow.marginals.oracle.hypothesis import Always
from hedgerow.marginals.oracle.rowwise.read import model_of


def hypothesis_data(hypothesis: Any) -> dict[str, Any]:
    """Return a hypothesis as JSON-ready data.

    Raises
    ------
    HypothesisError
        If it is none that can be sent.
    """
    if type(hypothesis) is Always:
        return {"always": hypothesis.label}
    model = model_of(hypothesis)
    if model is not None:
        return {"model": model.to_dict()}
    raise HypothesisError(
        "expected a constant, or a rule list, tree or scorecard of hedgerow's, as a hypothesis to send, got "
        f"{type(hypothesis).__name__}."
    )
