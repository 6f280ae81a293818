"""Derived columns in an engine, as expressions with the same meaning as `hedgerow.schema.derived`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import cast

from hedgerow.engines.bins import bin_code
from hedgerow.engines.columns import EngineColumn, double
from hedgerow.engines.engine import Expression, literal_text
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.packages import ibis
from hedgerow.engines.sources import engine_of
from hedgerow.schema import Derivation, Schema
from hedgerow.schema.attributes import MISSING, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.derived import LEAST, WHOLE_BELOW, Prefix, Ratio, Sum, YearsSince


def with_derived(table: Expression, schema: Schema, only: Collection[str] | None = None) -> Expression:
    """Return a table extended by the derived columns of a schema, or by the derived columns in `only`."""
    derivations = {name: kind for name, kind in schema.derivations.items() if only is None or name in only}
    if not derivations:
        return table
    schema.check_underived(table.columns)
    names = dict.fromkeys(name for derived in derivations.values() for name in derived.columns)
    columns = {name: EngineColumn.of(table, name) for name in names}
    lookups = Lookups(table, table.columns)
    computed = {
        name: _computed(name, derived, [columns[column] for column in derived.columns], lookups)
        for name, derived in derivations.items()
    }
    return engine_of(table).computed_once(lookups.rows().select(*table.columns, **computed))


def _computed(name: str, derived: Derivation, columns: Sequence[EngineColumn], lookups: Lookups) -> Expression:
    """Return a derived column: NULL for missing values, and an infinite number if a cell is invalid."""
    if any(map(derived.read_as.mistakes_dates, columns)):
        raise derived.refusal(name)
    codes = [bin_code(derived.read_as, column, lookups) for column in columns]
    missing = reduce(or_, (code == MISSING for code in codes))
    if derived.read_as.cell_type is CellType.VALUE:
        if any(column.kind == "boolean" or column.holds_dates for column in columns):
            raise derived.refusal(name)
        return ibis.cases((missing, ibis.null("string")), else_=derived.render(_Expressions(lookups), columns))
    invalid = reduce(or_, ((code < 0) & (code != MISSING) for code in codes))
    is_date, form = derived.read_as.cell_type is CellType.DATE, date_format(derived.read_as)
    plain = [column.plain_dates(form) for column in columns] if form else columns
    cells = [lookups.once(_days(column) if is_date else _number(column)) for column in plain]
    value = derived.render(_Expressions(lookups), cells).cast("float64")
    return ibis.cases((invalid, double(float("inf"))), (missing, ibis.null("float64")), else_=value)


def _days(column: EngineColumn) -> Expression:
    readable = column.kind == "text" or column.holds_dates
    return column.days.cast("int64") if readable else ibis.null("int64")


def _number(column: EngineColumn) -> Expression:
    return ibis.null("float64") if column.kind == "boolean" else column.numbers.cast("float64")


@dataclass(frozen=True)
class _Expressions:
    """Backend that derives Ibis expressions; repeated parts are computed once for each row."""

    lookups: Lookups

    def years_since(self, derived: YearsSince, days: Expression) -> Expression:
        return derived.of_days(days)

    def ratio(self, derived: Ratio, *cells: Expression) -> Expression:  # noqa: ARG002 -- two numbers are all
        zero, least = double(0.0), double(LEAST)
        above, below = (cast("Expression", ibis.cases((cell.abs() < least, zero), else_=cell)) for cell in cells)
        return above / below.nullif(zero)

    def sum(self, derived: Sum, *items: Expression) -> Expression:  # noqa: ARG002 -- the items are all
        return reduce(add, items)

    def prefix_of(self, derived: Prefix, code: EngineColumn) -> Expression:
        if code.kind == "float":
            is_whole = (code.values == code.values.floor()) & (code.values.abs() < double(WHOLE_BELOW))
            # No NaN may reach the comparison: engines may decide it by a column's bounds, which ignore NaN.
            small = ibis.cases((code.is_null, double(0.0)), (is_whole, code.values), else_=double(0.0))
            prefix = self._prefix(derived, small.cast("int64").cast("string"))
            return ibis.cases((code.is_null | ~is_whole, literal_text(derived.outside)), else_=prefix)
        return self._prefix(derived, code.word if code.kind == "text" else code.values.cast("string"))

    def _prefix(self, derived: Prefix, word: Expression) -> Expression:
        if derived.length is not None:
            return word.substr(0, derived.length)
        word, values = self.lookups.once(word), list(dict.fromkeys(derived.values_of.values()))
        codes = {prefix: values.index(value) for prefix, value in derived.values_of.items()}
        steps = [
            (self.lookups.once(word.substr(0, size)), {text: code for text, code in codes.items() if len(text) == size})
            for size in derived.lengths
        ]
        place: Expression = self.lookups.code(steps, ibis.literal(-1))
        texts = [(code, literal_text(value)) for code, value in enumerate(values)]
        return place.cases(*texts, else_=literal_text(derived.outside))
