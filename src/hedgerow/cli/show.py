"""`hedgerow show`: read a released model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.cli.options import Force, ModelFile, OthersSchema, TextOutput, any_model, option
from hedgerow.cli.output import (
    PICTURES,
    check_outputs,
    check_pictures,
    draw,
    model_text,
    print_or_write,
    without_a_window,
)
from hedgerow.errors import ArgumentError
from hedgerow.models.model import DialectName, Model

app = typer.Typer(add_completion=False)
Form = Literal["text", "json", "sql", "python", "pmml", "html", "card"]


@app.command("show")
def show(  # noqa: PLR0913 -- one an option
    model: ModelFile,
    *,
    schema: OthersSchema = None,
    form: Annotated[Form | None, option("Output format.  \\[by the file's ending, else text]", "--format")] = None,
    dialect: Annotated[DialectName | None, option("SQL dialect, with --format sql.  \\[duckdb]")] = None,
    plot: Annotated[Path | None, option("Draw the model into this PNG, SVG or PDF file.")] = None,
    paper: Annotated[Path | None, option("Draw a scorecard as a form to fill in by hand.")] = None,
    output: TextOutput = None,
    force: Force = False,
    as_json: Annotated[bool, option("Same as --format json.", "--json")] = False,
) -> None:
    """Show a model with its counts and privacy card; or export it: SQL, Python, PMML, HTML, JSON, hub card.

    [bold]Example[/bold]: hedgerow show model.json --format sql
    """
    form = _form(form, output, as_json=as_json)
    if dialect is not None and form != "sql":
        raise ArgumentError("--dialect needs --format sql.")
    check_outputs((plot, paper, output), model, schema, force=force)
    check_pictures(plot, paper)
    released = any_model(model, schema)
    text = _render(released, form, dialect or "duckdb")
    draw(released.form, paper)  # before anything else is written: only a scorecard has a form
    print_or_write(text, output)
    draw(released.plot, plot)


_FORMS: Mapping[str, Form] = {
    ".html": "html",
    ".md": "card",
    ".json": "json",
    ".pmml": "pmml",
    ".py": "python",
    ".sql": "sql",
}


def _form(given: Form | None, output: Path | None, *, as_json: bool) -> Form:
    if as_json and given not in (None, "json"):
        raise ArgumentError(f"expected one format, got --json and --format {given}; leave one of them out.")
    if as_json or given is not None:
        return given or "json"
    ending = "" if output is None else output.suffix.lower()
    if ending in PICTURES:
        raise ArgumentError(f"{output} has the name of a picture; use --plot in place of -o.")
    return _FORMS.get(ending, "text")


def _render(model: Model, form: Form, dialect: DialectName) -> str:
    if form == "text":
        return model_text(model)
    if form == "sql":
        return model.to_sql(dialect)
    if form == "html":
        without_a_window()
    written = {
        "json": model.to_json,
        "python": model.to_python,
        "pmml": model.to_pmml,
        "html": model.to_page,
        "card": model.to_model_card,
    }
    return written[form]().rstrip("\n")
