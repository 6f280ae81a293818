"""`hedgerow evaluate`: accuracy, cost, AUROC and calibration of a model on private rows, by differential privacy."""

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options as common
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.options import advanced, any_model, is_own, number, option, with_groups
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
    data: Annotated[str, typer.Argument(help="Private rows that it has not seen: a file or address, as for `fit`.")],
    *,
    epsilon: Annotated[str | None, number("Privacy loss of the evaluation, such as 0.1 or 1/10.")] = None,
    by: Annotated[str | None, option("Groups: NAME, or NAME=VALUE,VALUE of no attribute.", metavar="NAME")] = None,
    schema: Annotated[Path | None, option("More attributes, or a unit; of others' models.  \\[the model's]")] = None,
    unit: UnitOptions,
    class_weight: Annotated[list[str] | None, option("Cost of errors: CLASS=5. Repeatable.", metavar="RULE")] = None,
    costs: Annotated[Path | None, advanced("YAML or JSON file of costs.  \\[the model's]", "--costs")] = None,
    bands: Annotated[int | None, advanced("Score bands of probabilities.  \\[6 to 16, by epsilon]")] = None,
    plot: Annotated[Path | None, option("Draw the reliability diagram of two classes (PNG, SVG, PDF).")] = None,
    budget: common.BudgetOption = None,
    output: Annotated[Path, option("File for the evaluation.", "-o", "--output")] = Path("evaluation.json"),
    force: common.Force = False,
    as_json: common.AsJson = False,
    table: common.TableOptions,
    seed: Annotated[int | None, advanced("Repeatable, NOT private: --research.")] = None,
    research: Annotated[bool, advanced("Allow writing what has no guarantee.", "--research")] = False,
) -> None:
    """Release accuracy, mean cost, AUROC and calibration on private rows, with noise, by group.

    The charge covers one histogram of group, true class and score band, or for a number of the error and the number.
    Each measure has 95 % intervals and is shown next to the best constant prediction. Costs are those that the model
    was learned with, or those that you give. A person whose rows the model was learned from pays for both.

    [bold]Example[/bold]: hedgerow evaluate model.json test.csv --epsilon 0.1 --by sex --budget patients.budget.json
    """
    amount = _checked_epsilon(epsilon, seed, research=research)
    check_outputs((plot, output), model, data, schema, costs, force=force)
    check_pictures(plot)
    own = is_own(model)
    if not own and schema is None:
        raise ArgumentError(f"{model} is not hedgerow's own model file; add --schema FILE, which declares the rows.")
    released = any_model(model, schema, of_table=True)
    declared = unit.applied(released.schema if schema is None or not own else load_schema(schema))
    account = open_budget(budget)
    options = _options(released, class_weight, costs, bands)
    asked = Histogram.of(
        released, amount, budget=account, by=_groups(by), schema=declared, options=options, random_state=seed
    )
    _check_plot(asked, plot)
    asked.check_budget(asked.schema)
    with open_rows(data, table) as rows, reserved(output, room=ROOM, force=force) as write:
        label = target_name(rows.columns, None, declared)
        whose = unit_advice(rows.columns) if declared.unit is None else None
        if whose:
            say(f"warning: {whose}", err=True)

        def learn() -> Evaluation:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitWarning)  # printed above, without a line of source
                return rows.learn(asked, label, quietly=False)

        found = write_release(write, learn, Evaluation.to_json, asked.epsilon, account)
    with written(output):
        enter_digest(account, found.to_dict()["digest"])
        draw(found.plot, plot)
        more = {**found.to_dict(), "estimates": found.records()}
        say(json.dumps(more, ensure_ascii=False) if as_json else f"{found}\n\n{found.privacy}")


def _checked_epsilon(epsilon: str | None, seed: int | None, *, research: bool) -> str:
    if seed is not None and not research:
        raise ArgumentError("--seed replaces secure noise and voids the guarantee; add --research to confirm.")
    if epsilon is None:
        raise ArgumentError("expected --epsilon, the privacy loss of the evaluation, such as --epsilon 0.1; got none.")
    return epsilon


def _check_plot(asked: Histogram, plot: Path | None) -> None:
    if plot is not None and not asked.has_reliability:
        raise ArgumentError("--plot needs a model with probabilities of two classes; leave it out for this model.")


def _options(model: Model, class_weight: list[str] | None, costs: Path | None, bands: int | None) -> MeasureOptions:
    """Return the options of measures; costs only for a model of classes."""
    weights = class_weights(model.schema.classes, class_weight) if class_weight else None
    return MeasureOptions(None if costs is None else costs_in(costs, model.schema.classes), weights, bands)


def _groups(by: str | None) -> Groups | None:
    name, mark, values = (by or "").partition("=")
    return {name: values.split(",")} if mark else by
