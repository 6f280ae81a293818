"""`hedgerow show`: read a released model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.cli.options import Force, ModelFile, OthersSchema, TextOutput, any_model, option, with_groups
from hedgerow.cli.output import (
    PICTURES,
    check_outputs,
    check_pictures,
    draw,
    model_text,
    print_or_write,
    without_a_window,
)
from hedgerow.cli.point_scale import ScaleOptions, on_scale
from hedgerow.errors import ArgumentError
from hedgerow.models.model import ColumnTypes, DialectName, Model

app = typer.Typer(add_completion=False)
OutputForm = Literal["text", "json", "sql", "python", "pmml", "html", "card"]


@app.command("show")
@with_groups
def show(  # noqa: PLR0913 -- one an option
    model: ModelFile,
    *,
    schema: OthersSchema = None,
    form: Annotated[
        OutputForm | None, option("Output format.  \\[by the file's ending, else text]", "--format")
    ] = None,
    dialect: Annotated[DialectName | None, option("SQL dialect, with --format sql.  \\[duckdb]")] = None,
    types: Annotated[
        ColumnTypes | None, option("Column types, with --format sql; declared: plain comparisons.  \\[any]")
    ] = None,
    full: Annotated[bool, option("Show every leaf, rule and tree, however many there are.", "--full")] = False,
    plot: Annotated[Path | None, option("Draw the model into this PNG, SVG or PDF file.")] = None,
    paper: Annotated[Path | None, option("Draw a scorecard as a form to fill in by hand.")] = None,
    scale: ScaleOptions,
    output: TextOutput = None,
    force: Force = False,
    as_json: Annotated[bool, option("Same as --format json.", "--json")] = False,
) -> None:
    """Show a model with its counts and privacy card; or export it: SQL, Python, PMML, HTML, JSON, hub card.

    --pdo, --score, --odds and --favourable rescale a scorecard as in credit: a total of SCORE means odds of ODDS to 1
    for CLASS, and POINTS more double them. This costs no privacy budget.

    [bold]Examples[/bold]:

    hedgerow show model.json --format sql

    hedgerow show card.json --pdo 20 --score 600 --odds 50 --favourable repaid -o scaled.json
    """
    form = _form(form, output, as_json=as_json)
    if dialect is not None and form != "sql":
        raise ArgumentError("--dialect needs --format sql.")
    if types is not None and form != "sql":
        raise ArgumentError("--types needs --format sql.")
    if full and form != "text":
        raise ArgumentError(f"--full needs --format text, got --format {form}.")
    check_outputs((plot, paper, output), model, schema, force=force)
    check_pictures(plot, paper)
    released = any_model(model, schema)
    released = on_scale(released, scale.scale(released.schema))
    if form == "sql":
        text = released.to_sql(dialect or "duckdb", types=types or "any")
    else:
        text = _render(released, form, is_full=full)
    draw(released.form, paper)  # before anything else is written: only a scorecard has a form
    print_or_write(text, output)
    draw(released.plot, plot)


_FORMS: Mapping[str, OutputForm] = {
    ".html": "html",
    ".md": "card",
    ".json": "json",
    ".pmml": "pmml",
    ".py": "python",
    ".sql": "sql",
}


def _form(given: OutputForm | None, output: Path | None, *, as_json: bool) -> OutputForm:
    if as_json and given not in (None, "json"):
        raise ArgumentError(f"expected one format, got --json and --format {given}; leave one of them out.")
    if as_json or given is not None:
        return given or "json"
    ending = "" if output is None else output.suffix.lower()
    if ending in PICTURES:
        raise ArgumentError(f"{output} has the name of a picture; use --plot in place of -o.")
    return _FORMS.get(ending, "text")


def _render(model: Model, form: OutputForm, *, is_full: bool) -> str:
    if form == "text":
        return model_text(model, is_full=is_full)
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
