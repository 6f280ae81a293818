"""`hedgerow evaluate`: noisy accuracy, cost, AUROC and calibration of a model on private rows."""

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options as common
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.options import DATA, advanced, any_model, is_own, number, option, with_groups
from hedgerow.cli.output import ROOM, check_outputs, check_pictures, draw, say, written
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.cli.rows import UnitOptions, open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError, UnitWarning
from hedgerow.evaluation.evaluate import Groups, Histogram, MeasureOptions
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.models.model import Model
from hedgerow.schema.contributions import unit_advice

app = typer.Typer(add_completion=False)


@app.command("evaluate")
@with_groups
def evaluate(
    model: common.ModelFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Private held-out rows: {DATA}.")],
    *,
    epsilon: Annotated[
        str | None, number("Privacy loss of the evaluation, such as 0.1 or 1/10. Smaller is more private.")
    ] = None,
    by: Annotated[
        str | None,
        option("Compare groups of this attribute; of another column as NAME=VALUE,VALUE.", metavar="NAME"),
    ] = None,
    schema: Annotated[
        Path | None, option("Schema with further attributes or a unit.  \\[default: the schema of the model]")
    ] = None,
    unit: UnitOptions,
    class_weight: Annotated[
        list[str] | None, option("Cost of errors on a class, such as yes=5. Repeatable.", metavar="RULE")
    ] = None,
    costs: Annotated[
        Path | None, option("File (YAML or JSON) with costs of errors.  \\[default: as in the fit]", "--costs")
    ] = None,
    bands: Annotated[
        int | None,
        advanced("Number of probability bands for calibration.  \\[default: 6 to 16, more for a larger epsilon]"),
    ] = None,
    plot: Annotated[Path | None, option("Draw the reliability diagram, for two classes (.png, .svg or .pdf).")] = None,
    budget: common.BudgetOption = None,
    output: Annotated[Path, option("Evaluation file to write.", "-o", "--output")] = Path("evaluation.json"),
    force: common.Force = False,
    as_json: common.AsJson = False,
    table: common.TableOptions,
    seed: common.Seed = None,
    research: common.Research = False,
) -> None:
    """Release noisy accuracy, cost, AUROC and calibration of a model on private rows, by group.

    All measures follow from one noisy histogram of group, true class and predicted probability (of a number: of its
    error and value). Each measure has 95 % intervals and is shown next to the best constant prediction.

    Splitting by group does not increase epsilon. If a person's rows are in the training rows and in these rows, the
    epsilon of both releases adds up for that person.

    [bold]Examples[/bold]:

    hedgerow evaluate model.json test.csv --epsilon 0.1

    hedgerow evaluate model.json test.csv --epsilon 0.1 --by sex --budget patients.budget.json
    """
    amount = _checked_epsilon(epsilon, seed, research=research)
    check_outputs((plot, output), model, data, schema, costs, force=force)
    check_pictures(plot)
    own = is_own(model)
    if not own and schema is None:
        raise ArgumentError(f"{model} is not hedgerow's own model file; add --schema FILE, the schema of the rows.")
    released = any_model(model, schema, of_table=True)
    declared = unit.applied(released.schema if schema is None or not own else load_schema(schema))
    account = open_budget(budget)
    options = _options(released, class_weight, costs, bands)
    histogram = Histogram.of(
        released, amount, budget=account, by=_groups(by), schema=declared, options=options, random_state=seed
    )
    _check_plot(histogram, plot)
    histogram.check_budget(histogram.schema)
    with open_rows(data, table) as rows, reserved(output, room=ROOM, force=force) as write:
        label = target_name(rows.columns, None, declared)
        advice = unit_advice(rows.columns) if declared.unit is None else None
        for warning in filter(None, (histogram.guarantee_warning, advice)):
            say(f"warning: {warning}", err=True)

        def learn() -> Evaluation:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitWarning)  # printed above, without a line of source
                return rows.learn(histogram, label, quietly=False)

        evaluation = write_release(write, learn, Evaluation.to_json, histogram.epsilon, account)
    with written(output):
        enter_digest(account, evaluation.to_dict()["digest"])
        draw(evaluation.plot, plot)
        entries = {**evaluation.to_dict(), "estimates": evaluation.records()}
        say(json.dumps(entries, ensure_ascii=False) if as_json else f"{evaluation}\n\n{evaluation.privacy}")


def _checked_epsilon(epsilon: str | None, seed: int | None, *, research: bool) -> str:
    if seed is not None and not research:
        raise ArgumentError(
            "--seed makes the noise predictable and voids the privacy guarantee; add --research to confirm."
        )
    if epsilon is None:
        raise ArgumentError("--epsilon is missing; give the privacy loss of the evaluation, such as --epsilon 0.1.")
    return epsilon


def _check_plot(histogram: Histogram, plot: Path | None) -> None:
    if plot is not None and not histogram.has_reliability:
        raise ArgumentError("--plot requires a model with probabilities of two classes; leave it out for this model.")


def _options(model: Model, class_weight: list[str] | None, costs: Path | None, bands: int | None) -> MeasureOptions:
    weights = class_weights(model.schema.classes, class_weight) if class_weight else None
    return MeasureOptions(None if costs is None else costs_in(costs, model.schema.classes), weights, bands)


def _groups(by: str | None) -> Groups | None:
    name, mark, values = (by or "").partition("=")
    return {name: values.split(",")} if mark else by
