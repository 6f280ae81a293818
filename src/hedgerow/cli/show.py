"""`hedgerow show`: print or export a released model."""

from collections.abc import Mapping
from functools import partial
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
from hedgerow.text.language import Language, in_language

app = typer.Typer(add_completion=False)
OutputForm = Literal["text", "json", "sql", "python", "pmml", "html", "card"]


@app.command("show")
@with_groups
def show(  # noqa: PLR0913 -- a parameter for each option
    model: ModelFile,
    *,
    schema: OthersSchema = None,
    form: Annotated[
        OutputForm | None,
        option("Output format.  \\[default: from the ending of the output file, or text]", "--format"),
    ] = None,
    dialect: Annotated[DialectName | None, option("SQL dialect; requires --format sql.  \\[default: duckdb]")] = None,
    types: Annotated[
        ColumnTypes | None, option("SQL column types: declared gives shorter SQL, any casts values.  \\[default: any]")
    ] = None,
    full: Annotated[bool, option("Print every rule, leaf and attribute of a large model.", "--full")] = False,
    plot: Annotated[Path | None, option("Draw the model (.png, .svg or .pdf).")] = None,
    paper: Annotated[Path | None, option("Draw a scorecard as a form to fill in by hand (.png, .svg or .pdf).")] = None,
    language: Annotated[
        Language | None, option("Language of --format html, --plot and --paper.  \\[default: en]")
    ] = None,
    scale: ScaleOptions,
    output: TextOutput = None,
    force: Force = False,
    as_json: Annotated[bool, option("Print JSON, as with --format json.", "--json")] = False,
) -> None:
    """Show a model with its privacy card, or export it as SQL, Python, PMML, HTML, JSON or a model card.

    A credit scale changes the points of a scorecard so that a total of SCORE means odds of ODDS to 1 for CLASS, and
    POINTS more points double these odds. Exports and new scales charge no privacy budget.

    [bold]Examples[/bold]:

    hedgerow show model.json

    hedgerow show model.json --format sql --dialect postgres

    hedgerow show model.json -o model.html

    hedgerow show card.json --pdo 20 --score 600 --odds 50 --favourable repaid -o scaled.json
    """
    form = _form(form, output, as_json=as_json)
    if dialect is not None and form != "sql":
        raise ArgumentError("--dialect requires --format sql.")
    if types is not None and form != "sql":
        raise ArgumentError("--types requires --format sql.")
    if full and form != "text":
        raise ArgumentError(f"--full requires --format text, got --format {form}.")
    if language is not None and form != "html" and plot is None and paper is None:
        raise ArgumentError(f"--language requires --format html, --plot or --paper, got --format {form}.")
    check_outputs((plot, paper, output), model, schema, force=force)
    check_pictures(plot, paper)
    released = any_model(model, schema)
    released = on_scale(released, scale.scale(released.schema))
    if form == "sql":
        text = released.to_sql(dialect or "duckdb", types=types or "any")
    else:
        text = _render(released, form, language or "en", is_full=full)
    # The form comes first, since it raises an error if the model is not a scorecard.
    draw(partial(released.form, language=language or "en"), paper)
    print_or_write(text, output)
    with in_language(language or "en"):
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
        raise ArgumentError(f"--json and --format {given} ask for two formats; leave --json or --format out.")
    if as_json or given is not None:
        return given or "json"
    ending = "" if output is None else output.suffix.lower()
    if ending in PICTURES:
        raise ArgumentError(f"{output} has the ending of an image; use --plot {output} in place of -o.")
    return _FORMS.get(ending, "text")


def _render(model: Model, form: OutputForm, language: Language, *, is_full: bool) -> str:
    if form == "text":
        return model_text(model, is_full=is_full)
    if form == "html":
        without_a_window()
        return model.to_page(language=language).rstrip("\n")
    written = {
        "json": model.to_json,
        "python": model.to_python,
        "pmml": model.to_pmml,
        "card": model.to_model_card,
    }
    return written[form]().rstrip("\n")
