"""`hedgerow plan`: which model, which epsilon and which size suit a table, before anything is spent."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import FILE, AsJson, Force, TextOptions, named_values, number, option, with_groups
from hedgerow.cli.output import check_outputs, check_pictures, draw, say, stage
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.cli.rows import read_labelled
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.planning.planner import ACCURACY_LOSS, plan
from hedgerow.text.messages import shown

app = typer.Typer(add_completion=False)


@app.command()
@with_groups
def forecast(
    *,
    schema: Annotated[Path, option("Schema of the table.")],
    rows: Annotated[int, option("Approximate number of rows; do not count them.")],
    units: Annotated[int | None, option("Approximate number of units (persons), if the schema has a unit.")] = None,
    epsilon: Annotated[str | None, number("Privacy loss.  \\[enough for a tree of two levels]")] = None,
    delta: Annotated[str, number("The delta of a scorecard.")] = "0",
    accuracy_loss: Annotated[float, option("Accepted loss to noise: share of rows, or of R².")] = ACCURACY_LOSS,
    spread: Annotated[float | None, option("Of a number: about its standard deviation.  \\[spread evenly]")] = None,
    class_share: Annotated[str | None, option("Public guess of a rare class's share.", metavar="CLASS=SHARE")] = None,
    class_weight: Annotated[list[str] | None, option("Cost of errors: CLASS=5. Repeatable.", metavar="RULE")] = None,
    costs: Annotated[Path | None, option("Costs of errors, by class: a YAML or JSON file.")] = None,
    public: Annotated[Path | None, option(f"PUBLIC or synthetic rows to try models on: {FILE}.")] = None,
    runs: Annotated[int | None, option("Fits of each model at each epsilon, with --public.  \\[9]")] = None,
    text: TextOptions,
    plot: Annotated[Path | None, option("Draw the curve, or the bounds, by epsilon (PNG, SVG, PDF).")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Plan a fit before anything is spent: which model, which epsilon, which size.

    It uses public numbers only: the schema, the approximate number of rows, and epsilon. Without a public table it
    bounds how many predictions a tree or rule list of each size loses to noise, whatever the rows are.

    With a public or synthetic table like yours it fits trees, rule lists and scorecards to its rows at six epsilon. It
    shows how good they are on other rows, compared with the most frequent class, and recommends one. --plot draws it.

    If a class is rare, --class-share yes=0.03 adds the probability that a model predicts the same class for everyone,
    and what helps against it.

    [bold]Examples[/bold]:

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1 --class-share yes=0.03

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1 --public census.csv --plot plan.png
    """
    if runs is not None and public is None:
        raise ArgumentError("--runs needs --public, the rows that models are fitted to.")
    text.check_used("--public", used=public is not None)
    check_pictures(plot)
    check_outputs((plot,), schema, public, force=force)
    declared = load_schema(schema)
    classes = () if declared.label is None else declared.label.values
    pair = None
    if public is not None:
        with stage(f"reading {public}"):
            pair = read_labelled(public, text.text_format, declared)
    found = plan(
        declared,
        rows,
        epsilon,
        units=units,
        delta=delta,
        accuracy_loss=accuracy_loss,
        spread=spread,
        class_share=None if class_share is None else _share(class_share),
        class_weight=class_weights(classes, class_weight) if class_weight else None,
        costs=None if costs is None else costs_in(costs, classes),
        public=pair,
        runs=runs,
        verbose=True,
    )
    draw(found.plot, plot)
    say(json.dumps(found.to_dict()) if as_json else found)


def _share(text: str) -> dict[str, float]:
    """Return a class and its share."""
    ((name, share),) = named_values("--class-share", [text], "CLASS=SHARE", "class").items()
    try:
        return {name: float(share)}
    except ValueError:
        raise ArgumentError(f"--class-share must be CLASS=SHARE, such as yes=0.03, got {shown(text)}.") from None
