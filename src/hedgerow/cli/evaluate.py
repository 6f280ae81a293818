"""`hedgerow evaluate`: how often a model is right on private rows, under differential privacy."""

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.options import advanced, any_model, is_own, number, option, with_groups
from hedgerow.cli.output import ROOM, check_output, say, written
from hedgerow.cli.rows import UnitOptions, open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError, UnitWarning
from hedgerow.evaluation.evaluate import Groups, Histogram
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.schema.contributions import unit_advice

app = typer.Typer(add_completion=False)


@app.command("evaluate")
@with_groups
def evaluate(
    model: options.ModelFile,
    data: Annotated[str, typer.Argument(help="Private rows that it has not seen: a file or address, as for `fit`.")],
    *,
    epsilon: Annotated[str | None, number("Privacy loss of the evaluation, such as 0.1 or 1/10.")] = None,
    by: Annotated[str | None, option("Groups: NAME, or NAME=VALUE,VALUE of no attribute.", metavar="NAME")] = None,
    schema: Annotated[Path | None, option("More attributes, or a unit; of others' models.  \\[the model's]")] = None,
    unit: UnitOptions,
    budget: options.BudgetOption = None,
    output: Annotated[Path, option("File for the evaluation.", "-o", "--output")] = Path("evaluation.json"),
    force: options.Force = False,
    as_json: options.AsJson = False,
    table: options.TableOptions,
    seed: Annotated[int | None, advanced("Repeatable, NOT private: --research.")] = None,
    research: Annotated[bool, advanced("Allow writing what has no guarantee.", "--research")] = False,
) -> None:
    """Release how often a model is right on private rows, with noise, by group.

    It charges one histogram of group, true and predicted class, however many groups there are. Each interval
    holds the true value with a chance of at least 95 %. A person whose rows the model was learned from pays for both.

    [bold]Example[/bold]: hedgerow evaluate model.json test.csv --epsilon 0.1 --by sex --budget patients.budget.json
    """
    if seed is not None and not research:
        raise ArgumentError("--seed replaces secure noise and voids the guarantee; add --research to confirm.")
    if epsilon is None:
        raise ArgumentError("expected --epsilon, the privacy loss of the evaluation, such as --epsilon 0.1; got none.")
    check_output(output, model, data, schema, force=force)
    own = is_own(model)
    if not own and schema is None:
        raise ArgumentError(f"{model} is not hedgerow's own model file; add --schema FILE, which declares the rows.")
    released = any_model(model, schema, of_table=True)
    declared = unit.applied(released.schema if schema is None or not own else load_schema(schema))
    account = open_budget(budget)
    asked = Histogram.of(released, epsilon, budget=account, by=_groups(by), schema=declared, random_state=seed)
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
        more = {**found.to_dict(), "estimates": found.records()}
        say(json.dumps(more, ensure_ascii=False) if as_json else f"{found}\n\n{found.privacy}")


def _groups(by: str | None) -> Groups | None:
    name, mark, values = (by or "").partition("=")
    return {name: values.split(",")} if mark else by
