"""Subject of an attack: facts about the attacked learner and its table that a report can compare."""

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
_NO_PARAMETERS = ("budget", "memory", "n_jobs", "random_state", "verbose")  # do not change the distribution of models
_KINDS = ("tree", "rule list", "scorecard")


@dataclass(frozen=True)
class AttackSubject:
    """Learner and table of an attack. **Private**: anyone who guesses the rows can confirm the guess by a digest.

    Attributes
    ----------
    learner : str
        The name of the estimator's class, or of the audited function. The module is included unless the class belongs
        to hedgerow or scikit-learn.
    parameters : tuple of (str, str)
        The parameters by name, as canonical JSON, sorted. Parameters that only affect seeds, processes or output are
        left out, and so are ε and δ.
    epsilon, delta : Fraction or None
        The guarantee that a fit claims for a unit of privacy; None without a guarantee, or if the noise is seeded.
    schema : str or None
        The digest of the schema; None if the estimator has none.
    kind : str or None
        The kind of model: "tree", "rule list" or "scorecard"; None if the learner does not determine it.
    mechanism : str or None
        The first mechanism of a private fit as canonical JSON, as on privacy cards; None if it depends on the rows.
    rows : int
        The number of rows of the attacked table.
    tables : tuple of str
        SHA-256 digests of the tables that the attack may concern; empty if they are unknown. A digest covers the
        canonical values of the rows and labels. It does not depend on the order of rows or on column types.
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
            raise ArgumentError("learner, mechanism, and the names and values of parameters must be text.")
        if any(len(text) > LONGEST_TEXT for text in texts) or len(self.parameters) > MOST_PARAMETERS:
            limits = f"at most {MOST_PARAMETERS:,} parameters, and texts of at most {LONGEST_TEXT:,} characters"
            raise ArgumentError(f"the subject of an attack must have {limits}.")
        if list(self.parameters) != sorted(dict(self.parameters).items()):
            raise ArgumentError("parameters must be sorted by name, without duplicates.")
        if type(self.rows) is not int or self.rows < 0:
            raise ArgumentError("rows must be a whole number >= 0.")
        if (self.epsilon is None) != (self.delta is None):
            raise ArgumentError("epsilon and delta must both be given, or both be None.")
        if self.kind not in (None, *_KINDS):
            raise ArgumentError(f"kind must be None or one of {', '.join(_KINDS)}.")
        if len(self.tables) > MOST_TABLES or not all(map(_is_digest, (*self.tables, self.schema or "0" * 64))):
            raise ArgumentError(
                f"tables must be at most {MOST_TABLES} SHA-256 digests, and schema must be a SHA-256 digest or None."
            )

    @classmethod
    def of(
        cls, fit: Any, rows: LabelledRows | None, *, candidates: LabelledRows | None = None, uses_seed: bool = True
    ) -> Self:
        """Return the subject of an attack on an estimator or function, fitted on some rows.

        With `candidates`, the attacked table consists of the rows and at most one candidate. Set `uses_seed` to False
        if the audit computes probabilities, so that a seed of the estimator does not matter.
        """
        size, tables = (0, ()) if rows is None else (len(rows), table_digests(rows, _schema(fit), candidates))
        return cls(**learner_facts(fit, uses_seed=uses_seed), rows=size, tables=tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the subject as JSON-ready data."""
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
        """Return the subject that `to_dict` wrote; malformed data may raise any built-in error."""
        check_entries(data, [field.name for field in fields(cls)])
        values: dict[str, Any] = dict(data)
        for name in ("epsilon", "delta"):
            values[name] = None if data[name] is None else parse_amount(data[name])
        values |= {"parameters": tuple(sorted(data["parameters"].items())), "tables": tuple(data["tables"])}
        return cls(**values)


def check_entries(data: Mapping[str, Any], names: Collection[str]) -> None:
    """Check names before they become keyword arguments, since Python's errors about unknown arguments quote them."""
    if not data.keys() <= set(names):
        raise ArgumentError(f"unknown entry; the known entries are {', '.join(names)}")


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
    """Return the class of an estimator; subclasses of other packages get their module, as they may share our names."""
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
    """Return the parameters of an estimator and of its parts; empty if it has no `get_params`."""
    if not callable(getattr(fit, "get_params", None)) or isinstance(fit, type):
        return ()
    values: Mapping[str, Any] = guarded(fit.get_params, ArgumentError("get_params of the estimator failed."))
    recorded = {str(name): value for name, value in values.items() if str(name).split("__")[-1] not in _NO_PARAMETERS}
    if isinstance(fit, TallyEstimator):
        recorded = {name: value for name, value in recorded.items() if name not in ("epsilon", "delta", "schema")}
    return tuple(sorted((name[:LONGEST_TEXT], _text(_plain(value))) for name, value in recorded.items()))


def _text(plain: Any) -> str:
    text = json.dumps(plain, sort_keys=True)
    return text if len(text) <= LONGEST_TEXT else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _plain(value: Any) -> Any:
    """Return a parameter as JSON-ready data: 1 and 1.0 become equal, an object becomes the name of its type."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Fraction):
        return _plain_number(value)
    if isinstance(value, Mapping):
        return sorted([[_plain(key), _plain(item)] for key, item in value.items()], key=str)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
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
    """Return the digests of the tables that the attack may concern; empty if they are too many or not comparable.

    The digests cover the columns of the schema, or all columns without a schema.
    """
    try:
        lines = row_texts(rows, schema)
        candidate_lines = [] if candidates is None else row_texts(candidates, schema)
    except HedgerowError:  # the audit goes on: a learner may accept columns that have no canonical values
        return ()
    if len(candidate_lines) >= MOST_TABLES:
        return ()
    lines.sort()  # makes each of the sorts below fast
    return tuple(dict.fromkeys(_digest([*lines, *more]) for more in ([], *([line] for line in candidate_lines))))


def tables_digest(parts: Sequence[LabelledRows], schema: Schema | None) -> str | None:
    """Return the digest of the concatenated tables; None if a column cannot be compared."""
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
    """Return each row with its label as a line of JSON values."""
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
    """Return the values as JSON, equal for a number and its text, a boolean and 0 or 1, and a date and its text."""
    problem = ArgumentError("the values of a column are not comparable with each other.")
    values, places = guarded(partial(_distinct, column), problem)
    spell: Callable[[Any], str] = _day if column.holds_dates else _word
    words = [*(spell(value) for value in values), "null"]
    return [words[place] for place in np.where(column.is_missing, len(values), places).tolist()]


def _distinct(column: Column) -> tuple[list[Any], Array]:
    values: Any = column.values
    if column.is_text:
        values = np.where(column.is_missing, "", column.words()).astype(str)
    distinct, places = np.unique(values, return_inverse=True)
    return distinct.tolist(), places.reshape(-1)


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
