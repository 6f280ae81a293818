"""`hedgerow plan`: choose the model, epsilon and size before any budget is spent."""

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
    schema: Annotated[Path, option("Schema file of the table.")],
    rows: Annotated[int, option("Approximate number of rows, from public knowledge; do not count them.")],
    epsilon: Annotated[
        str | None, number("Privacy loss to plan for.  \\[default: epsilon that a tree of depth 2 needs]")
    ] = None,
    accuracy_loss: Annotated[
        float,
        option(
            "Accepted loss of accuracy due to noise, as a share of the rows (of R², if the model predicts a number)."
        ),
    ] = ACCURACY_LOSS,
    delta: Annotated[str, number("Delta to plan for; only scorecards use it.")] = "0",
    units: Annotated[int | None, option("Approximate number of persons, if the schema declares a unit.")] = None,
    public: Annotated[Path | None, option(f"PUBLIC or synthetic rows to try models on: {FILE}.")] = None,
    runs: Annotated[int | None, option("Fits per model and epsilon; requires --public.  \\[default: 9]")] = None,
    class_share: Annotated[
        str | None, option("Public estimate of the share of a rare class, such as yes=0.03.", metavar="CLASS=SHARE")
    ] = None,
    spread: Annotated[
        float | None,
        option("Public estimate of a number's standard deviation.  \\[default: as for a uniform distribution]"),
    ] = None,
    class_weight: Annotated[
        list[str] | None, option("Cost of errors on a class, such as yes=5. Repeatable.", metavar="RULE")
    ] = None,
    costs: Annotated[
        Path | None, option("File (YAML or JSON) with a cost for each pair of actual and predicted class.")
    ] = None,
    plot: Annotated[Path | None, option("Draw expected accuracy against epsilon (.png, .svg or .pdf).")] = None,
    text: TextOptions,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Choose the model, its size and epsilon before spending any privacy budget.

    A plan uses public information only: the schema, the approximate number of rows, and epsilon. It bounds how many
    rows a tree or rule list of each size misclassifies on average because of noise. The bounds hold for every table.

    With --public, a public or synthetic table like yours, it also fits trees, rule lists and scorecards at six values
    of epsilon. It compares their accuracy on held-out rows with the most frequent class, and recommends a model.

    If a class is rare, add --class-share yes=0.03. The plan then shows how likely a model is to predict the same class
    for everyone, and how to avoid that.

    [bold]Examples[/bold]:

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1 --class-share yes=0.03

    hedgerow plan --schema patients.yaml --rows 400 --epsilon 1 --public census.csv --plot plan.png
    """
    if runs is not None and public is None:
        raise ArgumentError("--runs requires --public, the table to which models are fitted.")
    text.check_used("--public", used=public is not None)
    check_pictures(plot)
    check_outputs((plot,), schema, public, force=force)
    declared = load_schema(schema)
    classes = () if declared.label is None else declared.label.values
    pair = None
    if public is not None:
        with stage(f"reading {public}"):
            pair = read_labelled(public, text.text_format, declared)
    forecast = plan(
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
    draw(forecast.plot, plot)
    say(json.dumps(forecast.to_dict()) if as_json else forecast)


def _share(text: str) -> dict[str, float]:
    ((name, share),) = named_values("--class-share", [text], "CLASS=SHARE").items()
    try:
        return {name: float(share)}
    except ValueError:
        raise ArgumentError(f"expected --class-share CLASS=SHARE, such such as yes=0.03, got {shown(text)}.") from None
