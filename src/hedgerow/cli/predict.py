"""`hedgerow predict`: apply a released model to new rows."""

from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.options import FILE, any_model, option, with_groups
from hedgerow.cli.output import check_outputs, say, stage, write_said
from hedgerow.cli.predictions import OutputColumns, class_weights, inert_table, predictions, to_csv, to_json
from hedgerow.errors import ArgumentError
from hedgerow.tables.table_files import read_table

app = typer.Typer(add_completion=False)


@app.command("predict")
@with_groups
def predict(
    model: options.ModelFile,
    data: Annotated[str, typer.Argument(help=f"The rows, with the columns that the model uses: {FILE}.")],
    *,
    schema: options.OthersSchema = None,
    output: options.TextOutput = None,
    proba: Annotated[bool, option("Add the probability of every class.", "--proba")] = False,
    ids: Annotated[list[str] | None, option("Copy this column, such as a number. Repeatable.", "--id")] = None,
    append: Annotated[bool, option("Copy all columns of the input.", "--append")] = False,
    explain: Annotated[bool, option("Add the rule, path or points that decide a row.", "--explain")] = False,
    reasons: Annotated[str | None, option("Add the attributes that cost most points for it.", metavar="LABEL")] = None,
    class_weight: Annotated[list[str] | None, option("Cost of errors. Repeatable.", metavar="LABEL=WEIGHT")] = None,
    text_options: options.TextOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class, or number, of every row of a CSV file, with the rule or leaf that predicts it.

    Scorecards add the total of points, one for each class if there are more than two.

    --class-weight CLASS=5 adds the decision of least expected cost: an error about a row of this class costs 5, any
    other 1. --proba needs a model with probabilities or counts.

    --reasons CLASS adds the attributes that cost a row most points for a class, such as "approved": what a lender
    states. Of a number it is high or low.

    Nothing is charged for the rows: a released model is public.

    With --id or --append the columns of the input come first. A prediction whose name is taken is renamed: "predicted
    ill" for "ill".

    In CSV, text that begins with = + - @ and is no number gets an apostrophe before it, so that no spreadsheet runs it
    as a formula. JSON has the text as it is.

    [bold]Example[/bold]: hedgerow predict model.json new.csv -o predictions.csv
    """
    check_outputs([output], model, data, schema, force=force)
    if append and ids:
        raise ArgumentError("leave --id out: --append copies all columns.")
    released = any_model(model, schema)
    if proba and not released.has_shares and released.schema.classes:
        problem = "the model has labels alone, and no probabilities for --proba"
        raise ArgumentError(f"{problem}; fit it with --objective mixed or --release-counts.")
    weights = class_weights(released.schema.classes, class_weight) if class_weight else {}
    columns = OutputColumns(tuple(ids or ()), append, proba, explain, reasons, weights)
    with stage(f"reading {data}"):
        rows = read_table(data, text_options.text_format)
        pointed = text_options.text_format.pointed(rows, released.schema.numbers)
        found = predictions(released, pointed, columns, copied=rows)
    written, is_altered = (found, False) if as_json else inert_table(found)
    text = to_json(written) if as_json else to_csv(written)
    if output is None:
        say(text, newline=False)
    else:
        write_said(output, text)
    if is_altered:
        told = "an apostrophe keeps spreadsheets from running some text as a formula; --json has the text as it is"
        say(told, err=True)
