"""`hedgerow predict`: apply a released model to new rows."""

from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.options import FILE, any_model, option, with_groups
from hedgerow.cli.output import check_outputs, say, stage, write_file
from hedgerow.cli.predictions import OutputColumns, class_weights, escape_table, predictions, to_csv, to_json
from hedgerow.errors import ArgumentError
from hedgerow.tables.table_files import read_table

app = typer.Typer(add_completion=False)


@app.command("predict")
@with_groups
def predict(
    model: options.ModelFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Rows with the columns that the model uses: {FILE}.")],
    *,
    schema: options.OthersSchema = None,
    output: options.TextOutput = None,
    proba: Annotated[bool, option("Add the probability of each class.", "--proba")] = False,
    ids: Annotated[
        list[str] | None, option("Copy this input column, such as an identifier. Repeatable.", "--id")
    ] = None,
    append: Annotated[bool, option("Copy all input columns.", "--append")] = False,
    explain: Annotated[bool, option("Add the rule, path or points that lead to each prediction.", "--explain")] = False,
    reasons: Annotated[
        str | None, option("Add the attributes that count most against this class (scorecards).", metavar="LABEL")
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        option("Cost of errors on a class; adds a column with the cheapest class. Repeatable.", metavar="LABEL=WEIGHT"),
    ] = None,
    text_options: options.TextOptions,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class or number of every row of a table with a released model.

    Prints CSV with one line per row: the prediction, and the rule or leaf that leads to it or the points of a
    scorecard. Predicting charges no privacy budget, because the model is already released.

    --proba requires a model with probabilities or released counts.

    --class-weight ill=5 adds the decision with the least expected cost, if an error on class "ill" costs 5 and any
    other error 1.

    --reasons approved adds the attributes that cost a row the most points for class "approved", for example
    to explain a rejection.
    If the model predicts a number, use `high` or `low` in place of a class.

    With --id or --append the input columns come first. If a name is taken, the prediction is called "predicted NAME".

    CSV output puts an apostrophe before text that begins with = + - or @ and is not a number, so that spreadsheets do
    not run it as a formula. JSON output is unchanged.

    [bold]Examples[/bold]:

    hedgerow predict model.json new.csv -o predictions.csv

    hedgerow predict model.json new.csv --id patient --proba --explain
    """
    check_outputs([output], model, data, schema, force=force)
    if append and ids:
        raise ArgumentError("--id is not needed with --append, which copies all columns; leave --id out.")
    released = any_model(model, schema)
    if released.schema.target.as_number is not None:
        for name in [name for name, value in (("--proba", proba), ("--class-weight", class_weight)) if value]:
            raise ArgumentError(f"{name} needs classes, and this model predicts a number; leave {name} out.")
    if proba and not released.has_shares:
        problem = "--proba requires probabilities, but this model predicts labels only"
        raise ArgumentError(f"{problem}; fit it with --objective mixed or --release-counts.")
    weights = class_weights(released.schema.classes, class_weight) if class_weight else {}
    columns = OutputColumns(tuple(ids or ()), append, proba, explain, reasons, weights)
    with stage(f"reading {data}"):
        rows = read_table(data, text_options.text_format)
        pointed = text_options.text_format.pointed(rows, released.schema.numbers)
        predicted = predictions(released, pointed, columns, copied=rows)
    written, is_altered = (predicted, False) if as_json else escape_table(predicted)
    text = to_json(written) if as_json else to_csv(written)
    if output is None:
        say(text, newline=False)
    else:
        write_file(output, text)
    if is_altered:
        note = "note: an apostrophe was added before text that a spreadsheet could run as a formula; --json adds none"
        say(note, err=True)
