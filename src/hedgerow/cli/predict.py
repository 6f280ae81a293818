"""`hedgerow predict`: apply a released model to new rows."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import typer
from numpy.typing import NDArray

from hedgerow.cli.output import check_output, say, stage
from hedgerow.csv_files import read_csv
from hedgerow.durable import write_whole
from hedgerow.models import RuleList, Scorecard, Tree, load_model
from hedgerow.values import NUMBER, Value, value_text

app = typer.Typer(add_completion=False)


_FORMULAS = (*"=+-@\t\r\n＝＋－＠",)  # the last four as East Asian keyboards write them


@app.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by `hedgerow fit`.")],
    data: Annotated[Path, typer.Argument(help="CSV file with the columns that the model uses.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file, not the screen.")] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class; 0 or 1 where leaves have labels alone.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and not CSV.")] = False,
) -> None:
    """Predict the class of every row of a CSV file, in order, with the rule or leaf that predicts it.

    Of a scorecard, with its total of points; for more than two classes, its total for each.

    The rows are not charged: a released model is public.

    In CSV, a class or the name of its column that a spreadsheet would take for a formula, since it begins with one of
    = + - @ and is no number, gets an apostrophe before it. JSON has them as they are.

    [bold]Example[/bold]: hedgerow predict model.json new.csv -o predictions.csv
    """
    if output is not None:
        check_output(output, model, data, force=force)
    released = load_model(model)
    with stage(f"reading {data}"):
        decided = _decided(released, read_csv(data), proba=proba)
    if as_json:
        text = json.dumps(_predictions(released, decided).to_pylist(), ensure_ascii=False) + "\n"
    else:
        text = _to_csv(_predictions(released, decided, written=inert))
    if output is None:
        say(text, newline=False)
    else:
        write_whole(output, text)
        say(f"written to {output}", err=True)
    if not as_json and any(inert(value) != value for value in (_label_name(released), *_predictable(released))):
        say("text that a spreadsheet would take for a formula has an apostrophe before it; --json has none", err=True)


def inert(value: Value) -> Value:
    """Return a value as a spreadsheet takes it for what it is: an apostrophe before text that looks like a formula.

    Examples
    --------
    >>> print(inert("=1+1"), inert("-7.5"), inert("- none"), inert("a=b"))
    '=1+1 -7.5 '- none a=b
    """
    looks_so = isinstance(value, str) and value.startswith(_FORMULAS) and not re.fullmatch(NUMBER, value)
    return f"'{value}" if looks_so else value


_Released = RuleList | Tree | Scorecard


def _label_name(model: _Released) -> str:
    return "prediction" if model.schema.label is None else model.schema.label.name


def _predictable(model: _Released) -> tuple[Value, ...]:
    """Return the classes that a model can predict."""
    return model.schema.classes if isinstance(model, Scorecard) else model.predictions


@dataclass(frozen=True)
class _Decided:
    """What a model says of each row: the class, what it follows from by name, and probabilities if asked for."""

    classes: NDArray[Any]
    reasons: Mapping[str, NDArray[Any]]
    shares: NDArray[np.float64] | None


def _decided(model: _Released, rows: Any, *, proba: bool) -> _Decided:
    if isinstance(model, Scorecard):
        totals = model.totals(rows)
        names = ["total"] if model.is_binary else [f"total({value_text(value)})" for value in model.schema.classes]
        reasons = dict(zip(names, totals.reshape(len(totals), -1).T, strict=True))
        return _Decided(model.predictions_of(totals), reasons, model.probabilities_of(totals) if proba else None)
    caught = model.apply(rows)
    shares = model.probabilities[caught] if proba else None
    return _Decided(np.array(model.predictions)[caught], {model.leaf_name: caught + 1}, shares)


def _predictions(
    model: _Released, decided: _Decided, *, written: Callable[[Value], Value] = lambda value: value
) -> pa.Table:
    name = _label_name(model)
    known = _predictable(model)
    spelled = dict(zip(known, map(written, known), strict=True))
    columns: dict[str, Any] = {str(written(name)): [spelled[value] for value in decided.classes.tolist()]}
    for reason, values in decided.reasons.items():
        columns[reason if reason != name else f"{name} number"] = values  # one column must not hide the other
    if decided.shares is not None:
        shares = zip(model.schema.classes, decided.shares.T, strict=True)
        columns |= {f"P({value_text(value)})": share for value, share in shares}
    return pa.table(columns)


def _to_csv(table: pa.Table) -> str:
    buffer = io.BytesIO()
    pacsv.write_csv(table, buffer, pacsv.WriteOptions(quoting_style="needed"))
    return buffer.getvalue().decode()
