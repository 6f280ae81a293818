"""The private rows of an oracle in a database. Every question is an aggregate query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from hedgerow.boundary.arrays import Integers
from hedgerow.engines.columns import EngineColumn, Expression
from hedgerow.engines.contributions import counted_table
from hedgerow.engines.marginals import check_rows, columns_of, count_all, count_classes, count_right
from hedgerow.errors import DomainError, HypothesisError
from hedgerow.hypotheses import Always
from hedgerow.hypotheses.read import model_of
from hedgerow.models.model import Model
from hedgerow.oracle.frame_rows import OracleRows, summed_steps, target_label
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.values import quoted_text

_KINDS = {"boolean": "boolean", "integer": "numbers", "float": "numbers", "text": "text"}


@dataclass(frozen=True, repr=False, eq=False)
class OracleTable(OracleRows):
    """Private rows with labels in a database."""

    table: Expression  # the rows
    label: Target  # the classes, or the number, with the name of the column
    inputs: Mapping[str, EngineColumn]  # the other columns with booleans, numbers, dates or text
    kinds: Mapping[str, str]

    @classmethod
    def of(cls, table: Any, name: str, classes: Sequence[Any] | Target | None, unit: Unit | None = None) -> Self:
        """Return the checked rows of a table. Errors are for the curator."""
        column, inputs = columns_of(table, name)
        if unit is not None:
            table = counted_table(table, unit, [*inputs, name])
            column, inputs = columns_of(table, name)
        label = target_label(name, classes, are_boolean=column.kind == "boolean")
        check_rows(table, label, inputs)
        return cls(table, label, inputs, _kinds(inputs))

    def reopened(self, table: Expression) -> Self:
        """Return the target with a newly opened table, whose columns may have changed."""
        _, inputs = columns_of(table, self.label.name)
        return replace(self, table=table, inputs=inputs, kinds=_kinds(inputs))

    def _check_columns(self, bins: Schema) -> None:
        for name in bins.names:
            if name not in self.inputs:
                raise DomainError.absent(name, self.inputs)

    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> Model | int:  # noqa: ARG002 -- no code of others
        """Return a hypothesis as a model, or as the index of the class that it always predicts. Reads no row."""
        candidate = model_of(hypothesis)
        model = candidate if candidate is not None and candidate.paths else None
        if model is None and type(hypothesis) is not Always:
            raise HypothesisError(
                "for rows in a database, a hypothesis must be a rule list or tree of hedgerow, or a constant, "
                f"got {type(hypothesis).__name__}. With ExprilClassifier, set queries=1."
            )
        labels = (hypothesis.label,) if model is None else model.outcomes
        classes = self.label.hypothesis_classes
        if any(label not in classes for label in labels):
            names = ", ".join(map(quoted_text, classes))
            raise HypothesisError(f"all predictions of the hypothesis must be classes of the target: {names}.")
        if model is None:
            return classes.index(hypothesis.label)
        for name in model.used_attributes:
            if name not in self.inputs:
                raise HypothesisError(f"the hypothesis uses the column {name!r}, which the target does not have.")
        return model

    def size(self) -> int:
        return count_all(self.table)

    def classes_by_bin(self, bins: Schema) -> Integers:
        return count_classes(self.table, self.label, self.inputs, bins)

    def errors_by_bin(self, bins: Schema, hypothesis: Model | int) -> tuple[Integers, Integers]:
        return summed_steps(count_right(self.table, self.label, self.inputs, bins, hypothesis))


def _kinds(inputs: Mapping[str, EngineColumn]) -> dict[str, str]:
    return {name: _KINDS[column.kind] for name, column in inputs.items()}
