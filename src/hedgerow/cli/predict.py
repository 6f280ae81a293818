"""`hedgerow predict`: apply a released model to new rows."""

from __future__ import annotations

from typing import Annotated

import typer

from hedgerow.cli.options import (
    FILE,
    AsJson,
    Force,
    ModelFile,
    OthersSchema,
    TextOptions,
    TextOutput,
    any_model,
    option,
    with_groups,
)
from hedgerow.cli.output import check_outputs, say, stage, write_said
from hedgerow.cli.predictions import OutputColumns, class_weights, inert_table, predictions, to_csv, to_json
from hedgerow.errors import ArgumentError
from hedgerow.tables.table_files import read_table

app = typer.Typer(add_completion=False)


@app.command("predict")
@with_groups
def predict(
    model: ModelFile,
    data: Annotated[str, typer.Argument(help=f"The rows, with the columns that the model uses: {FILE}.")],
    *,
    schema: OthersSchema = None,
    output: TextOutput = None,
    proba: Annotated[bool, option("Add the probability of every class.", "--proba")] = False,
    ids: Annotated[list[str] | None, option("Copy this column, such as a number. Repeatable.", "--id")] = None,
    append: Annotated[bool, option("Copy all columns of the input.", "--append")] = False,
    explain: Annotated[bool, option("Add the rule, path or points that decide a row.", "--explain")] = False,
    class_weight: Annotated[list[str] | None, option("Cost of errors. Repeatable.", metavar="LABEL=WEIGHT")] = None,
    text_options: TextOptions,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class, or number, of every row of a CSV file, with the rule or leaf that predicts it.

    Of a scorecard, with its total of points; for more than two classes, its total for each.

    With --class-weight, the decision of the least expected cost is added: any error about a row of this class costs so
    much, and about others 1. Models with labels alone have no probabilities for --proba.

    The rows are not charged: a released model is public.

    With --id or --append the columns of the input come first. A column whose name one of them has gets another:
    "predicted ill" for "ill".

    In CSV, text that a spreadsheet would take for a formula, since it begins with one of = + - @ and is no number, gets
    an apostrophe before it: classes, names of columns, and what is copied. JSON has it as it is.

    [bold]Example[/bold]: hedgerow predict model.json new.csv -o predictions.csv
    """
    check_outputs([output], model, data, schema, force=force)
    if append and ids:
        raise ArgumentError("expected --id or --append, got both; --append copies all columns.")
    released = any_model(model, schema)
    if proba and not released.has_shares and released.schema.classes:
        raise ArgumentError(
            "expected a model with probabilities or counts for --proba, got one with labels alone; fit it with "
            "--objective mixed or --release-counts."
        )
    weights = class_weights(released.schema.classes, class_weight) if class_weight else {}
    columns = OutputColumns(tuple(ids or ()), everything=append, proba=proba, explain=explain, class_weight=weights)
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
        say("text that a spreadsheet would take for a formula has an apostrophe before it; --json has none", err=True)
