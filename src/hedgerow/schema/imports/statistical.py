"""Draft schemas from the dictionaries of SPSS, Stata and SAS files; no row is read."""

from os import PathLike, fspath
from typing import Any

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, bounded_column, category_or_boolean
from hedgerow.tables.statistical_files import Variable, variables_of
from hedgerow.text.date_formats import ISO

ORIGIN = "dictionary of the data file"


def statistical_draft(path: str | PathLike[str]) -> Draft:
    """Return the draft of an SPSS, Stata or SAS file; value labels become values, in the order of their codes."""
    problem = None
    try:
        variables = variables_of(fspath(path))
    except DomainError as error:
        variables, problem = (), str(error)
    if problem:
        raise SchemaError(problem)
    return Draft.of([_column(variable) for variable in variables], ORIGIN, "data file with a variable")


def _column(variable: Variable) -> DraftColumn:
    common: dict[str, Any] = {"may_be_missing": True}  # every variable of these programs may have missing values
    if variable.description:
        common |= {"description": variable.description, "source": ORIGIN}
    if variable.labels:
        return category_or_boolean(variable.name, list(variable.labels.values()), ordered=variable.is_ordered, **common)
    if variable.kind == "text":
        return DraftColumn(name=variable.name, kind="categorical", **common)
    if variable.kind in ("date", "time"):
        form = {"format": ISO} if variable.kind == "time" else {}
        return DraftColumn(name=variable.name, kind="date", **form, **common)
    kind = "integer" if variable.kind == "integer" else "real"
    return bounded_column(variable.name, kind, *(variable.bounds or (None, None)), **common)
