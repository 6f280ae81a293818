"""`hedgerow fit`: learn a private rule list, tree or scorecard from a table, of classes or of a number."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.learner_options import CLASSIFIER_LEARNERS, ModelKind, given_parameters, with_parameters
from hedgerow.cli.options import advanced, number, option, with_groups
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
from hedgerow.privacy.amounts import exact
from hedgerow.schema import Schema
from hedgerow.schema.booleans import all_boolean, default_classes
from hedgerow.schema.contributions import unit_advice
from hedgerow.text.values import printable

app = typer.Typer(add_completion=False)
MANY_ROWS = 1_000  # a fit that may need more says so first


@app.command("fit")
@with_groups
@with_parameters
def fit(
    data: Annotated[str, typer.Argument(help="The sensitive table: file or address, as for `hedgerow schema check`.")],
    target: Annotated[str | None, option("Column to predict.  \\[the schema's label]", metavar="NAME")] = None,
    schema: Annotated[Path | None, option("YAML or JSON; not needed where all columns are boolean.")] = None,
    epsilon: Annotated[str | None, number("Privacy loss of the whole model, such as 1, 0.1 or 1/10.")] = None,
    model: Annotated[ModelKind, option(f"{', '.join(CLASSIFIER_LEARNERS)}.", metavar="KIND")] = "rule-list",
    *,
    unit: UnitOptions,
    scale: ScaleOptions,
    budget: options.BudgetOption = None,
    output: Annotated[Path, option("File for the model.", "-o", "--output")] = Path("model.json"),
    force: options.Force = False,
    as_json: options.AsJson = False,
    tally: Annotated[bool, option("DATA is a tally of rows: see `hedgerow tally`.", "--tally")] = False,
    table: options.TableOptions,
    seed: Annotated[int | None, advanced("Repeatable, NOT private: --research.")] = None,
    research: Annotated[bool, advanced("Allow writing a model without guarantee.", "--research")] = False,
    **parameters: Any,
) -> None:
    """Learn a rule list, tree or scorecard from a sensitive table under differential privacy.

    --model auto chooses between a tree and a scorecard within epsilon, and prints what it chose and why.

    --pdo, --score, --odds and --favourable put a scorecard for two classes on a scale as in credit: a total of SCORE
    means odds of ODDS to 1 for CLASS, and POINTS more double them. This costs no privacy budget.

    [bold]Example[/bold]: hedgerow fit patients.csv --schema patients.yaml --epsilon 1 --model auto -o model.json
    """
    if seed is not None and not research:
        raise ArgumentError("--seed replaces secure noise and voids the guarantee; add --research to confirm.")
    if epsilon is None:
        raise ArgumentError("expected --epsilon, the privacy loss of the model, such as --epsilon 1; got none.")
    amount = exact(epsilon, "epsilon")
    check_output(output, data, schema, force=force)
    declared = unit.applied(None if schema is None else load_schema(schema))
    if tally and declared is None:
        raise ArgumentError("--tally needs --schema, the one that the rows were counted by.")
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
        account.check(amount, given.get("delta", 0), rho=0)  # which rho it costs follows from the columns
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
    """Refuse a mechanism whose guarantee is published but not proven, before anything else is asked for it."""
    published = PUBLISHED.get(mechanism)
    if published is not None and published.gap is not None:
        problem = f"--mechanism {mechanism} has no proven guarantee: {published.gap}"
        raise ArgumentError(f"{problem}. Add --research to confirm.")


def _tell_rows_needed(learner: SearchSpecification, schema: Schema) -> None:
    """Say how many rows a model needs, if many, from public numbers alone: how many there are is private."""
    needed = rows_needed(learner, schema, ACCURACY_LOSS)
    if needed is not None and needed > MANY_ROWS:
        lost = f"lose at most {100 * ACCURACY_LOSS:g} % of them to noise on average; see `hedgerow plan`"
        rows = f"{needed:,.0f} rows"
        if schema.unit is not None:
            rows += f" (counted rows: at most {schema.unit.max_rows} of each {printable(schema.unit.column)})"
        say(f"at this epsilon even the smallest model needs about {rows} to {lost}", err=True)


def _learn(learner: PrivateSpecification, rows: CommandRows, label: str) -> Model:
    cost = None
    if isinstance(learner, SearchSpecification):
        declared = learner.schema
        if not isinstance(declared, Schema):
            declared = all_boolean(rows.columns, label, default_classes(False))
        cost = learner.search_cost(declared)
        learner = replace(learner, verbose=cost is not None and cost.is_noticeable)
        _tell_rows_needed(learner, declared)
    unit = learner.schema.unit if isinstance(learner.schema, Schema) else None
    too_noisy = noise_warning(learner.exact_epsilon, unit)
    # By their names alone, which are public: how values repeat is private, and `schema check` tells the curator
    whose = unit_advice(rows.columns) if unit is None else None
    for warning in filter(None, (too_noisy, whose)):
        say(f"warning: {warning}", err=True)
    return rows.learn(learner, label, quietly=cost is not None)
