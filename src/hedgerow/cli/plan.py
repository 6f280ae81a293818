"""`hedgerow plan`: what private fits can be expected to do, before anything is spent."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.options import FILE, AsJson, Force, TextOptions, number, option, with_groups
from hedgerow.cli.output import check_outputs, check_pictures, draw, say, stage
from hedgerow.cli.rows import read_labelled
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.planning.planner import ACCURACY_LOSS, plan

app = typer.Typer(add_completion=False)
_CURVE_RUNS = 3  # about half a minute for 5,000 rows


@app.command()
@with_groups
def forecast(
    *,
    schema: Annotated[Path, option("Schema of the table.")],
    rows: Annotated[int, option("About how many rows there are; do not count them.")],
    units: Annotated[int | None, option("About how many units (persons) there are, if the schema has a unit.")] = None,
    epsilon: Annotated[str | None, number("Privacy loss.  \\[the least for --accuracy-loss]")] = None,
    delta: Annotated[str, number("The delta of a scorecard.")] = "0",
    accuracy_loss: Annotated[float, option("Share of rows, or of R², that may be lost.")] = ACCURACY_LOSS,
    spread: Annotated[float | None, option("Of a number: about its standard deviation.  \\[spread evenly]")] = None,
    public: Annotated[Path | None, option(f"PUBLIC rows that models are tried on: {FILE}.")] = None,
    runs: Annotated[int | None, option("With --public: how often.  \\[20; at a plot's other epsilons 3]")] = None,
    text: TextOptions,
    plot: Annotated[Path | None, option("Draw by epsilon: losses, or with --public accuracy (PNG, SVG, PDF).")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Forecast what models lose at an epsilon, or which epsilon they need, before anything is spent.

    It uses public numbers alone: the schema, about how many rows there are, and epsilon. Whatever the rows are, a drawn
    model makes, on average, at most so many more errors than the best one of its size; for a number it bounds R² and
    the mean absolute error. The chance of one class for every row is that on a made-up table.

    Which epsilon is enough depends on the rows: with a public table like yours, --public and --plot draw what models
    get right by epsilon, and from where on each beats the most frequent class. Without one, set --accuracy-loss.

    [bold]Examples[/bold]:

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1

    hedgerow plan --schema patients.yaml --rows 400 --accuracy-loss 0.02

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1 --public census.csv --plot plan.png
    """
    if runs is not None and public is None:
        raise ArgumentError("--runs needs --public, the rows that models are tried on.")
    text.check_used("--public", used=public is not None)
    check_pictures(plot)
    check_outputs((plot,), schema, public, force=force)
    declared = load_schema(schema)
    pair = None
    if public is not None:
        with stage(f"reading {public}"):
            pair = read_labelled(public, text.text_format, declared)
    more = 0 if public is None or plot is None else _CURVE_RUNS if runs is None else runs
    tried: dict[str, Any] = {"public": pair, "runs": 20 if runs is None else runs, "curve_runs": more, "verbose": True}
    found = plan(declared, rows, epsilon, units=units, delta=delta, accuracy_loss=accuracy_loss, spread=spread, **tried)
    draw(found.plot, plot)
    say(json.dumps(found.to_dict()) if as_json else found)
