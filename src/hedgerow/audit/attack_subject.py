"""The subject of an attack: the learner that was attacked, and the table, as facts that a report can compare."""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Array
from hedgerow.boundary.canonical import canonical
from hedgerow.boundary.foreign_code import guarded
from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import ArgumentError, HedgerowError
from hedgerow.learn.contract import TallyEstimator, specification_of
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.releases import PlannedRelease
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import column_of

LONGEST_TEXT = 2_000  # characters of a parameter; a longer text is replaced by its digest
MOST_PARAMETERS, MOST_TABLES = 1_000, 100
_NO_PARAMETERS = ("budget", "memory", "n_jobs", "random_state", "verbose")  # none changes the distribution of models
_KINDS = ("tree", "rule list", "scorecard")


@dataclass(frozen=True)
class AttackSubject:
    """The learner and the table of an attack. **Private**: a digest of rows confirms guesses at them.

    Attributes
    ----------
    learner : str
        The name of the estimator's class, with its module unless it is hedgerow's or scikit-learn's, or of the function
        that was audited.
    parameters : tuple of (str, str)
        The parameters by name, as canonical JSON, sorted; without those that only seed, run or show a fit. ε and δ are
        fields of their own.
    epsilon, delta : Fraction or None
        The guarantee that a fit claims, for a unit of privacy; None for a learner without one, or with seeded noise.
    schema : str or None
        The digest of the schema; None if the estimator has none.
    kind : str or None
        The kind of model: "tree", "rule list" or "scorecard"; None if the learner does not determine it.
    mechanism : str or None
        The first mechanism of a private fit as canonical JSON, as privacy cards state it; None if answers decide it.
    rows : int
        The number of rows of the attacked table.
    tables : tuple of str
        SHA-256 digests of the tables that can be the attacked one; empty if they are not known. A digest is of the
        canonical values of rows with their labels. It depends neither on the order of rows nor on the types of columns.
    """

    learner: str
    parameters: tuple[tuple[str, str], ...] = ()
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    schema: str | None = None
    kind: str | None = None
    mechanism: str | None = None
    rows: int = 0
    tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts = [self.learner, self.mechanism or "", *(part for pair in self.parameters for part in pair)]
        if not all(isinstance(text, str) for text in texts):
            raise ArgumentError("expected text as names, parameters and mechanism, got something else.")
        if any(len(text) > LONGEST_TEXT for text in texts) or len(self.parameters) > MOST_PARAMETERS:
            raise ArgumentError(f"expected parameters of at most {LONGEST_TEXT:,} characters, got longer ones.")
        if list(self.parameters) != sorted(dict(self.parameters).items()):
            raise ArgumentError("expected parameters sorted by name, each once, got others.")
        if type(self.rows) is not int or self.rows < 0:
            raise ArgumentError("expected rows as a whole number >= 0, got something else.")
        if (self.epsilon is None) != (self.delta is None) or self.kind not in (None, *_KINDS):
            raise ArgumentError("expected epsilon and delta together, and a known kind of model, got others.")
        if len(self.tables) > MOST_TABLES or not all(map(_is_digest, (*self.tables, self.schema or "0" * 64))):
            raise ArgumentError("expected SHA-256 digests of tables and schema, got something else.")

    @classmethod
    def of(
        cls, fit: Any, rows: LabelledRows | None, *, candidates: LabelledRows | None = None, uses_seed: bool = True
    ) -> Self:
        """Return the facts about an estimator, or a function, and the rows that it is attacked on.

        With `candidates`, the attacked table has the rows and none or one of the candidates. An audit that computes
        chances does not use a seed (`uses_seed` is False).
        """
        size, tables = (0, ()) if rows is None else (len(rows), table_digests(rows, _schema(fit), candidates))
        return cls(**learner_facts(fit, uses_seed=uses_seed), rows=size, tables=tables)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "learner": self.learner,
            "parameters": dict(self.parameters),
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "delta": None if self.delta is None else str(self.delta),
            "schema": self.schema,
            "kind": self.kind,
            "mechanism": self.mechanism,
            "rows": self.rows,
            "tables": list(self.tables),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; any of Python's errors of values if it is something else."""
        check_entries(data, [one.name for one in fields(cls)])
        found: dict[str, Any] = dict(data)
        for name in ("epsilon", "delta"):
            found[name] = None if data[name] is None else parse_amount(data[name])
        found |= {"parameters": tuple(sorted(data["parameters"].items())), "tables": tuple(data["tables"])}
        return cls(**found)


def check_entries(data: Mapping[str, Any], names: Collection[str]) -> None:
    """Check the names of entries before they are used as arguments: Python's errors about these quote them."""
    if not data.keys() <= set(names):
        raise ArgumentError("expected known entries, found another one")


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")


def learner_facts(fit: Any, *, uses_seed: bool = True) -> dict[str, Any]:
    """Return the fields of `AttackSubject` about an estimator, fitted or not, or about a function."""
    name = _learner_name(fit)
    schema = _schema(fit)
    facts: dict[str, Any] = {"learner": name[:LONGEST_TEXT], "parameters": _parameters(fit)}
    facts["schema"] = None if schema is None else schema.digest
    specification = specification_of(fit) if isinstance(fit, TallyEstimator) else None
    kind = getattr(specification, "model", None)
    facts["kind"] = kind if kind in _KINDS else None
    if isinstance(specification, PrivateSpecification):
        is_seeded = uses_seed and specification.random_state is not None
        epsilon, delta = specification.exact_epsilon, Fraction(0)
        if schema is not None:
            plan = specification.plan(schema)
            charge = specification.planned_charge(schema)
            epsilon, delta = charge.epsilon, charge.delta
            facts["kind"] = plan.model if plan.model in _KINDS else None
            facts["mechanism"] = _first_mechanism(plan)
        if not is_seeded:
            facts |= {"epsilon": epsilon, "delta": delta}
    return facts


def _learner_name(fit: Any) -> str:
    """Return the name of an estimator's class, with its module if that is another's: it may be a subclass of ours."""
    if not hasattr(fit, "fit"):
        return str(getattr(fit, "__name__", type(fit).__name__))
    is_known = type(fit).__module__.partition(".")[0] in ("hedgerow", "sklearn")
    return type(fit).__name__ if is_known else _type_name(type(fit))


def _schema(fit: Any) -> Schema | None:
    schema = getattr(fit, "schema", None)
    return schema if isinstance(schema, Schema) else None


def _first_mechanism(plan: Plan) -> str | None:
    first = plan.releases[0]
    return canonical(first.mechanism.record.to_dict()) if isinstance(first, PlannedRelease) else None


def _parameters(fit: Any) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an estimator and of its parts; none of what has no `get_params`."""
    if not callable(getattr(fit, "get_params", None)) or isinstance(fit, type):
        return ()
    given: Mapping[str, Any] = guarded(fit.get_params, ArgumentError("expected an estimator whose get_params works."))
    own = {str(name): value for name, value in given.items() if str(name).split("__")[-1] not in _NO_PARAMETERS}
    if isinstance(fit, TallyEstimator):
        own = {name: value for name, value in own.items() if name not in ("epsilon", "delta", "schema")}
    return tuple(sorted((name[:LONGEST_TEXT], _text(_plain(value))) for name, value in own.items()))


def _text(plain: Any) -> str:
    text = json.dumps(plain, sort_keys=True)
    return text if len(text) <= LONGEST_TEXT else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _plain(value: Any) -> Any:
    """Return a parameter as JSON-ready data: 1 and 1.0 are the same; an object is the name of its type."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Fraction):
        return _plain_number(value)
    if isinstance(value, Mapping):
        return sorted([[_plain(key), _plain(one)] for key, one in value.items()], key=str)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _type_name(value)


def _plain_number(value: float | Fraction) -> float | str:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return str(value) if isinstance(value, Fraction) or not math.isfinite(value) else value


def _type_name(value: Any) -> str:
    if isinstance(value, Schema):
        return f"schema {value.digest}"
    named = value if isinstance(value, type) or hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', type(value).__name__)}"


def table_digests(rows: LabelledRows, schema: Schema | None, candidates: LabelledRows | None = None) -> tuple[str, ...]:
    """Return the digests of the tables that can be the attacked one; none if they are too many or not comparable.

    Rows are compared in the columns of the schema, or else in all columns.
    """
    try:
        own = row_texts(rows, schema)
        others = [] if candidates is None else row_texts(candidates, schema)
    except HedgerowError:  # what a learner takes, an audit of it takes; only the comparison of tables is lost
        return ()
    if len(others) >= MOST_TABLES:
        return ()
    own.sort()  # once: sorting sorted lines with one more is quick
    return tuple(dict.fromkeys(_digest([*own, *more]) for more in ([], *([one] for one in others))))


def tables_digest(parts: Sequence[LabelledRows], schema: Schema | None) -> str | None:
    """Return the digest of tables put together; None if a column cannot be compared."""
    try:
        return _digest([line for part in parts for line in row_texts(part, schema)])
    except HedgerowError:
        return None


def order_digest(rows: LabelledRows, schema: Schema | None) -> str | None:
    """Return a digest of the rows in their order; None if a column cannot be compared."""
    try:
        return hashlib.sha256("\n".join(row_texts(rows, schema)).encode()).hexdigest()
    except HedgerowError:
        return None


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([f"hedgerow table {len(lines)}", *sorted(lines)]).encode()).hexdigest()


def row_texts(rows: LabelledRows, schema: Schema | None = None) -> list[str]:
    """Return each row with its label as one line of JSON texts."""
    columns = [_words(column) for column in (*_columns(rows, schema), column_of(rows.labels, "label"))]
    return list(map(",".join, zip(*columns, strict=True)))


def _columns(rows: LabelledRows, schema: Schema | None) -> list[Column]:
    table = rows.table
    if table.names is None:
        return [table.column(f"x{place}", place) for place in range(table.width)]
    weight = () if schema is None or schema.weight is None else (schema.weight.name,)
    names = sorted(table.names) if schema is None else (*schema.columns(), *weight)
    return [table.column(name, 0) for name in names]


def _words(column: Column) -> list[str]:
    """Return the values as JSON: equal for a number and its text, a boolean and 0 or 1, a date and its text."""
    values, places = guarded(partial(_distinct, column), ArgumentError("expected a column of comparable values."))
    spell: Callable[[Any], str] = _day if column.holds_dates else _word
    words = [*(spell(value) for value in values), "null"]
    return [words[place] for place in np.where(column.is_missing, len(values), places).tolist()]


def _distinct(column: Column) -> tuple[list[Any], Array]:
    values: Any = column.values
    if column.is_text:
        values = np.where(column.is_missing, "", column.words()).astype(str)
    found, places = np.unique(values, return_inverse=True)
    return found.tolist(), places.reshape(-1)


def _day(value: int) -> str:
    return json.dumps(str(np.datetime64(value, "D")))


def _word(value: Any) -> str:
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return "1.0" if value.lower() == "true" else "0.0"
        try:
            number = float(value)
        except ValueError:
            return json.dumps(value)
        return repr(number + 0.0) if math.isfinite(number) else json.dumps(value)  # + 0.0: no negative zero
    return repr(float(value) + 0.0) if math.isfinite(value) else json.dumps(str(value))
