"""Private rows behind an oracle that stay in their database: each question is one aggregate there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import ibis
import numpy as np

from hedgerow.columns import found_infinity
from hedgerow.engines.cells import class_code, is_infinite, settled_cell
from hedgerow.engines.columns import EngineColumn, Expression
from hedgerow.engines.faults import answered
from hedgerow.engines.predict import predicted_class, used_attributes
from hedgerow.errors import DomainError, HypothesisError
from hedgerow.marginals.hypothesis import Always
from hedgerow.marginals.target import Counts, check_bins
from hedgerow.models.model import Model
from hedgerow.schema.label import Label
from hedgerow.schema.schema import Schema
from hedgerow.values import quoted_text

_KINDS = {"boolean": "boolean", "integer": "numbers", "float": "numbers", "text": "text"}
_BOTH = ("wrong", "right")


@dataclass(frozen=True, repr=False, eq=False)
class TableTarget:
    """A table of private rows with their labels.

    Attributes
    ----------
    table : Ibis table
        The rows.
    label : Label
        The two classes, under the name of their column.
    inputs : dict of str to EngineColumn
        The other columns that can have bins: of booleans, numbers, dates or text.
    """

    table: Expression
    label: Label
    inputs: Mapping[str, EngineColumn]

    @classmethod
    def of(cls, table: Any, name: str, classes: Sequence[Any] | None) -> Self:
        """Check a table, for the eyes of the curator, who sets up the oracle.

        Raises
        ------
        DomainError
            If there is no such column, labels are missing or none of the classes, or a number is infinite.
        EngineError
            If the engine fails.
        TypeError
            If it is not an Ibis table.
        """
        if not isinstance(table, ibis.Table):
            raise TypeError(f"expected an Ibis table, got {type(table).__name__}.")
        column = EngineColumn.of(table, name)
        if classes is not None and len(classes) != 2:
            raise ValueError(f"expected two classes, got {len(classes)}.")
        default = (False, True) if column.kind == "boolean" else (0, 1)
        target = cls(table, Label(name, tuple(default if classes is None else classes)), dict(_inputs(table, name)))
        target._check_rows(column)
        return target

    def _check_rows(self, labels: EngineColumn) -> None:
        floats = {name: column for name, column in self.inputs.items() if column.kind == "float"}
        infinite = {f"i{i}": is_infinite(column).sum() for i, column in enumerate(floats.values())}
        found = self._ask(self.table.group_by(code=class_code(self.label, labels)).agg(n=ibis._.count(), **infinite))
        self.label.settle(found["code"].to_numpy())
        for i, name in enumerate(floats):
            if any(found[f"i{i}"].to_pylist()):
                raise found_infinity(name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that can have bins."""
        return tuple(self.inputs)

    def check(self, bins: Schema) -> None:
        """Check that bins have a place for every value of their column, without touching a row; as for a frame."""

        def check_columns() -> None:
            for name in bins.names:
                if name not in self.inputs:
                    raise DomainError(f"expected this column, found: {', '.join(sorted(self.inputs))}.", column=name)

        check_bins(bins, lambda name: _KINDS[self.inputs[name].kind], check_columns)

    def ready(self, hypothesis: Any, bins: Schema) -> Any:  # noqa: ARG002 -- those in memory try it on rows made of bins
        """Return the model that a hypothesis is; no row is touched.

        Raises
        ------
        HypothesisError
            If it is none that becomes SQL, or looks at a column that is not there.
        """
        fitted = (getattr(hypothesis, name, None) for name in ("rule_list_", "tree_"))
        model: Any = next((found for found in (hypothesis, *fitted) if isinstance(found, Model)), None)
        if isinstance(hypothesis, Always):
            model = hypothesis
        if model is None:
            raise HypothesisError(
                "rows in a database can be asked about rule lists and trees of hedgerow and about constants, got "
                f"{type(hypothesis).__name__}; with ExprilClassifier, ask one question or give such an estimator."
            )
        labels = (model.label,) if isinstance(model, Always) else model.predictions
        if any(label not in self.label.classes for label in labels):
            names = ", ".join(map(quoted_text, self.label.classes))
            raise HypothesisError(f"expected predictions that are one of {names}; some are not.")
        for name in () if isinstance(model, Always) else used_attributes(model):
            if name not in self.inputs:
                raise HypothesisError(f"the hypothesis looks at a column {name!r} that is not there.")
        return model

    def size(self) -> int:
        """Return the number of rows. Exact, private."""
        return int(self._ask(self.table.aggregate(n=self.table.count()))["n"][0].as_py())

    def rows_by_bin(self, bins: Schema) -> Counts:
        """Return the rows in each bin, shape ``(n_bins,)``. Exact, private."""
        wrong, right = self.errors_by_bin(bins, Always(self.label.classes[0]))
        return wrong + right

    def errors_by_bin(self, bins: Schema, asked: Any) -> tuple[Counts, Counts]:
        """Return the rows of each bin that a hypothesis, made ready, gets wrong and right. Exact, private."""
        cells = {
            f"b{i}": settled_cell(attribute, self.inputs[name]) for i, (name, attribute) in enumerate(bins.attributes)
        }
        cells["class"] = class_code(self.label, EngineColumn.of(self.table, self.label.name))
        if isinstance(asked, Always):
            coded = self.table.select(**cells)
            predicted = ibis.literal(self.label.classes.index(asked.label))
        else:
            keys = {name: f"m{i}" for i, name in enumerate(used_attributes(asked))}
            looked_at = {key: settled_cell(asked.schema[name], self.inputs[name]) for name, key in keys.items()}
            coded = self.table.select(**cells, **looked_at)
            by_name = {name: coded[key] for name, key in keys.items()}
            predicted = predicted_class(asked, by_name, self.label.classes)
        held = coded.mutate(right=predicted == coded["class"])
        return self._sums(held, bins)

    def _sums(self, held: Expression, bins: Schema) -> tuple[Counts, Counts]:
        sums = {
            f"{side}{i}_{cell}": held.count(
                where=(held[f"b{i}"] == cell) & (held.right if side == "right" else ~held.right)
            )
            for side in _BOTH
            for i, (_, attribute) in enumerate(bins.attributes)
            for cell in range(len(attribute.cells))
        }
        found = self._ask(held.aggregate(**sums))
        wrong, right = (
            np.array([found[name][0].as_py() for name in sums if name.startswith(side)], dtype=np.int64)
            for side in _BOTH
        )
        return wrong, right

    def _ask(self, query: Expression) -> Any:
        return answered(self.table.get_backend().name, lambda: query.to_pyarrow())


def _inputs(table: Expression, label: str) -> Sequence[tuple[str, EngineColumn]]:
    """Return the columns that can have bins; those of other types, such as times, are left alone."""
    found = []
    for name in table.columns:
        if name != label:
            try:
                found.append((name, EngineColumn.of(table, name)))
            except DomainError:
                continue
    return found
