"""Decision paths of CORELS rule lists."""

from __future__ import annotations

from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by, own_names
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import ArgumentError
from hedgerow.models.paths import Path
from hedgerow.schema.schema import Schema


def corels_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted ``CorelsClassifier``; None for any other model.

    The model does not store the supports of its rules.

    References
    ----------
    Angelino, Larus-Stone, Alabi, Seltzer, Rudin, *Learning Certifiably Optimal Rule Lists for Categorical Data*, 2018.
    """
    if not is_made_by(model, "corels", "CorelsClassifier"):
        return None
    found = getattr(model, "rl_", None)
    if found is None:
        raise ArgumentError("expected a fitted CorelsClassifier, got one without a rule list; call `fit` first.")
    columns = Columns.of(schema, features, own_names(found.features, "feature{}", first=1), len(found.features))
    return Paths(tuple(_path(rule["antecedents"], columns) for rule in found.rules))


def _path(antecedents: list[int], columns: Columns) -> Path:
    """Return the literals of a rule: column i - 1 is 1 for i, and 0 for -i; 0 is no condition."""
    return tuple(step for i in antecedents if i for step in columns.is_one(abs(i) - 1, holds=i > 0))
