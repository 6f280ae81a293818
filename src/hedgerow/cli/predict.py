"""`hedgerow predict`: apply a released model to new rows."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import typer
from numpy.typing import NDArray

from hedgerow.cli.output import check_output, stage, write_whole
from hedgerow.csv_files import read_csv
from hedgerow.models import RuleList, Tree, load_model
from hedgerow.values import value_text


def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by `hedgerow fit`.")],
    data: Annotated[Path, typer.Argument(help="CSV file with the columns that the model uses.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file, not the screen.")] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class; 0 or 1 without counts.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and not CSV.")] = False,
) -> None:
    """Predict the class of every row of a CSV file, in order, and name the rule or leaf that decides.

    The rows are not charged: a released model is public.

    [bold]Example[/bold]: hedgerow predict model.json new.csv -o predictions.csv
    """
    if output is not None:
        check_output(output, force=force)
    released = load_model(model)
    with stage(f"reading {data}"):
        caught = released.apply(read_csv(data))
    table = _predictions(released, caught, proba=proba)
    text = json.dumps(table.to_pylist(), ensure_ascii=False) + "\n" if as_json else _to_csv(table)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_whole(output, text)
        typer.echo(f"written to {output}", err=True)


def _predictions(model: RuleList | Tree, caught: NDArray[np.intp], *, proba: bool) -> pa.Table:
    name = "prediction" if model.schema.label is None else model.schema.label.name
    number = model.leaf_name if model.leaf_name != name else f"{name} number"  # one column must not hide the other
    columns = {name: np.array(model.predictions)[caught], number: caught + 1}
    if proba:
        shares = zip(model.schema.classes, model.probabilities[caught].T, strict=True)
        columns |= {f"P({value_text(value)})": share for value, share in shares}
    return pa.table(columns)


def _to_csv(table: pa.Table) -> str:
    buffer = io.BytesIO()
    pacsv.write_csv(table, buffer, pacsv.WriteOptions(quoting_style="needed"))
    return buffer.getvalue().decode()
