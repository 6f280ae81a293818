"""Private rows behind an oracle that stay in their database: each question is one aggregate there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.engines.columns import EngineColumn, Expression
from hedgerow.engines.predict import used_attributes
from hedgerow.engines.questions import check_rows, columns_of, count_all, count_errors
from hedgerow.errors import ArgumentError, DomainError, HypothesisError
from hedgerow.marginals.oracle.frame_target import check_bins
from hedgerow.marginals.oracle.hypothesis import Always
from hedgerow.marginals.oracle.rowwise.read import model_of
from hedgerow.marginals.oracle.target import Counts
from hedgerow.models.model import Model
from hedgerow.schema.label import Label
from hedgerow.schema.schema import Schema
from hedgerow.values import quoted_text

_KINDS = {"boolean": "boolean", "integer": "numbers", "float": "numbers", "text": "text"}


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
        column, inputs = columns_of(table, name)
        if classes is not None and len(classes) != 2:
            raise ArgumentError(f"expected two classes, got {len(classes)}.")
        default = (False, True) if column.kind == "boolean" else (0, 1)
        target = cls(table, Label(name, tuple(default if classes is None else classes)), inputs)
        check_rows(table, target.label, inputs)
        return target

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

    def ready(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> Model | int:  # noqa: ARG002 -- no code of others
        """Return the model that a hypothesis is, or the number of the class that it always predicts; no row is touched.

        Raises
        ------
        HypothesisError
            If it is none that becomes SQL, predicts what is no class, or looks at a column that is not there.
        """
        model = model_of(hypothesis)
        if model is None and type(hypothesis) is not Always:
            raise HypothesisError(
                "rows in a database can be asked about rule lists and trees of hedgerow and about constants, got "
                f"{type(hypothesis).__name__}; with ExprilClassifier, ask one question."
            )
        labels = (hypothesis.label,) if model is None else model.predictions
        if any(label not in self.label.classes for label in labels):
            names = ", ".join(map(quoted_text, self.label.classes))
            raise HypothesisError(f"expected predictions that are one of {names}; some are not.")
        if model is None:
            return self.label.classes.index(hypothesis.label)
        for name in used_attributes(model):
            if name not in self.inputs:
                raise HypothesisError(f"the hypothesis looks at a column {name!r} that is not there.")
        return model

    def size(self) -> int:
        """Return the number of rows. Exact, private."""
        return count_all(self.table)

    def rows_by_bin(self, bins: Schema) -> Counts:
        """Return the rows in each bin, shape ``(n_bins,)``. Exact, private."""
        wrong, right = self.errors_by_bin(bins, 0)
        return wrong + right

    def errors_by_bin(self, bins: Schema, asked: Model | int) -> tuple[Counts, Counts]:
        """Return the rows of each bin that a hypothesis, made ready, gets wrong and right. Exact, private."""
        return count_errors(self.table, self.label, self.inputs, bins, asked)
