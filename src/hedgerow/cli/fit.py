"""`hedgerow fit`: learn a private rule list, tree or scorecard that predicts a class or a number."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.learner_options import CLASSIFIER_LEARNERS, MODEL_KIND, ModelKind, given_parameters, with_parameters
from hedgerow.cli.options import DATA, number, option, with_groups
from hedgerow.cli.output import ROOM, check_output, model_text, say, written
from hedgerow.cli.point_scale import ScaleOptions, charged_on_scale
from hedgerow.cli.rows import CommandRows, UnitOptions, open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.learn.learners import REGRESSORS
from hedgerow.learn.private_base import PrivateSpecification, model_caveats, noise_warning
from hedgerow.learn.searches import SearchSpecification
from hedgerow.learn.ssrl.greedy import PUBLISHED, PublishedRuleList
from hedgerow.models.model import Model
from hedgerow.planning.expected import rows_needed
from hedgerow.planning.planner import ACCURACY_LOSS
from hedgerow.privacy.amounts import positive
from hedgerow.schema import Schema
from hedgerow.schema.booleans import all_boolean, default_classes
from hedgerow.schema.contributions import unit_advice
from hedgerow.text.values import printable

app = typer.Typer(add_completion=False)
MANY_ROWS = 1_000  # a fit that needs more prints so first


@app.command("fit")
@with_groups
@with_parameters
def fit(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Sensitive table: {DATA}.")],
    schema: Annotated[
        Path | None, option("Schema file (YAML or JSON); not needed if all columns are boolean or 0/1.")
    ] = None,
    epsilon: Annotated[
        str | None, number("Privacy loss of the whole model, such as 1, 0.1 or 1/10. Smaller is more private.")
    ] = None,
    model: Annotated[ModelKind, option(MODEL_KIND, metavar="KIND")] = "rule-list",
    target: Annotated[
        str | None, option("Column to predict.  \\[default: the label of the schema]", metavar="NAME")
    ] = None,
    *,
    unit: UnitOptions,
    scale: ScaleOptions,
    budget: options.BudgetOption = None,
    output: Annotated[Path, option("Model file to write.", "-o", "--output")] = Path("model.json"),
    force: options.Force = False,
    as_json: options.AsJson = False,
    tally: Annotated[bool, option("DATA is a tally, written by `hedgerow tally`.", "--tally")] = False,
    table: options.TableOptions,
    seed: options.Seed = None,
    research: options.Research = False,
    **parameters: Any,
) -> None:
    """Learn a rule list, tree or scorecard from a sensitive table under differential privacy.

    The command checks every row against the schema before it spends any budget. The output file contains the model and
    its privacy card; it can be published, except with --research. Use `hedgerow plan` first to choose model, size and
    epsilon.

    --model auto chooses between a tree and a scorecard within epsilon, and prints its choice and the reason.

    [bold]Examples[/bold]:

    hedgerow fit patients.csv --schema patients.yaml --epsilon 1 --model auto -o model.json

    hedgerow fit visits.csv --schema visits.yaml --epsilon 1 --model tree --unit patient --max-rows 3

    hedgerow fit loans.csv --schema loans.yaml --epsilon 2 --model scorecard --pdo 20 --score 600 --odds 50
    --favourable repaid
    """
    if seed is not None and not research:
        raise ArgumentError(
            "--seed makes the noise predictable and voids the privacy guarantee; add --research to confirm."
        )
    if epsilon is None:
        raise ArgumentError("--epsilon is missing; give the privacy loss of the model, such as --epsilon 1.")
    amount = positive(epsilon, "epsilon")
    check_output(output, data, schema, force=force)
    declared = unit.applied(None if schema is None else load_schema(schema))
    if tally and declared is None:
        raise ArgumentError("--tally requires --schema, the schema with which the rows were counted.")
    points = scale.of_fit(model, declared, parameters["points"])
    account = open_budget(budget)
    makers = CLASSIFIER_LEARNERS if declared is None or declared.target.as_number is None else REGRESSORS
    given = given_parameters(model, parameters, makers, declared)
    if makers[model] is PublishedRuleList and not research:
        _check_proven(given.get("mechanism", PublishedRuleList.mechanism))
    learner = makers[model](amount, **given, schema=declared, budget=account, random_state=seed)
    if declared is not None:
        learner.check_budget(declared)
    elif account is not None:
        account.check(amount, given.get("delta", 0), rho=0)  # rho follows from the columns, which are not known yet
    with open_rows(data, table, declared if tally else None) as rows, reserved(output, room=ROOM, force=force) as write:
        label = target_name(rows.columns, target, declared)
        released = write_release(
            write,
            lambda: charged_on_scale(_learn(learner, rows, label), points),
            lambda model: model.to_json(),
            amount,
            account,
        )
    with written(output):
        for caveat in model_caveats(released, learner):
            say(f"warning: {caveat.sentence}", err=True)
        enter_digest(account, released.to_dict()["digest"])
        say(json.dumps(released.to_dict(), ensure_ascii=False) if as_json else model_text(released))


def _check_proven(mechanism: str) -> None:
    """Raise `ArgumentError` for a mechanism whose published guarantee is not proven."""
    published = PUBLISHED.get(mechanism)
    if published is not None and published.gap is not None:
        problem = f"--mechanism {mechanism} has no proven privacy guarantee: {published.gap}"
        raise ArgumentError(f"{problem}. Add --research to confirm.")


def _print_rows_needed(learner: SearchSpecification, schema: Schema) -> None:
    """Print the number of rows that a model needs, if it is large; it follows from public numbers alone."""
    needed = rows_needed(learner, schema, ACCURACY_LOSS)
    if needed is not None and needed > MANY_ROWS:
        rows = f"{needed:,.0f} rows"
        if schema.unit is not None:
            rows += f" (counting at most {schema.unit.max_rows} per {printable(schema.unit.column)})"
        purpose = f"so that noise misclassifies at most {100 * ACCURACY_LOSS:g} % more of them on average"
        say(
            f"note: at this epsilon even the smallest model needs about {rows}, {purpose}; see `hedgerow plan`",
            err=True,
        )


def _learn(learner: PrivateSpecification, rows: CommandRows, label: str) -> Model:
    cost = None
    if isinstance(learner, SearchSpecification):
        declared = learner.schema
        if not isinstance(declared, Schema):
            declared = all_boolean(rows.columns, label, default_classes(False))
        cost = learner.search_cost(declared)
        learner = replace(learner, verbose=cost is not None and cost.is_noticeable)
        _print_rows_needed(learner, declared)
    unit = learner.schema.unit if isinstance(learner.schema, Schema) else None
    too_noisy = noise_warning(learner.exact_epsilon, unit)
    # From column names alone, which are public; `schema check` uses the values, and its output is private
    advice = unit_advice(rows.columns) if unit is None else None
    for warning in filter(None, (too_noisy, learner.guarantee_warning, advice)):
        say(f"warning: {warning}", err=True)
    return rows.learn(learner, label, quietly=cost is not None)
