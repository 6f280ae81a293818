"""`hedgerow fit`: learn a private rule list, tree or scorecard from a table, of classes or of a number."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli import options
from hedgerow.cli.budget import enter_digest, open_budget, write_release
from hedgerow.cli.options import ADVANCED, advanced, named_values, number, option, with_groups
from hedgerow.cli.output import ROOM, check_output, model_text, say, written
from hedgerow.cli.point_scale import ScaleOptions, charged_on_scale
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.cli.rows import CommandRows, UnitOptions, open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.learn.auto import PrivateAutoClassification
from hedgerow.learn.learners import CLASSIFIERS, REGRESSORS, Learners
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
_CLASSIFIERS: Learners = {**CLASSIFIERS, "auto": PrivateAutoClassification}
ModelKind = Literal["rule-list", "tree", "scorecard", "auto", "dp-greedyrl"]
_hints = cache(get_type_hints)


@cache
def _parameters(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    return signature(make).parameters


@dataclass(frozen=True)
class _Parameter:
    """An option for a parameter of the estimators, with its type, and its default in the help."""

    help: str
    panel: str | None = None
    type: Any = None  # what is typed, where that is not what the parameter takes
    metavar: str | None = None
    name: str | None = None  # of the option, where it is not that of the parameter

    def flag(self, name: str) -> str:
        return f"--{self.name or name.replace('_', '-')}"

    def option(self, name: str) -> Parameter:
        makes = [make for make in (*_CLASSIFIERS.values(), *REGRESSORS.values()) if name in _parameters(make)]
        default = _parameters(makes[0])[name].default
        flag = [self.flag(name)] if default is False or self.name else []
        text = f"{self.help}  \\[{default}]" if self.panel and not isinstance(default, bool | None) else self.help
        found = option(text, *flag, rich_help_panel=self.panel, metavar=self.metavar)
        kind = _hints(makes[0])[name] if self.type is None else self.type
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, found])


_PARAMETERS: Mapping[str, _Parameter] = {
    "max_rules": _Parameter("Rules, the default one included.  \\[drawn too; dp-greedyrl: 5]"),
    "max_depth": _Parameter("Levels of a tree.  \\[drawn too]"),
    "scoring": _Parameter("auto: accuracy, or roc_auc to rank rows by their probability.", type=str, metavar="NAME"),
    "n_rows": _Parameter("auto: number of rows, if public.  \\[a noisy count]", name="rows"),
    "delta": _Parameter("Less noise in scorecards of many attributes. Below 1/rows.", type=str, metavar="NUMBER"),
    "search": _Parameter("auto, exact or greedy.", ADVANCED, metavar="NAME"),
    "lookahead": _Parameter("Rules, or levels, drawn jointly.  \\[all]", ADVANCED),
    "objective": _Parameter("Loss of a row; see the manual.", ADVANCED, str, "NAME"),
    "class_weight": _Parameter("Cost of errors: CLASS=5. Repeatable.", ADVANCED, list[str], "RULE"),
    "costs": _Parameter("YAML or JSON file; the manual has one.", ADVANCED, Path),
    "quantile": _Parameter("Of --objective quantile.", ADVANCED),
    "clip": _Parameter("Of numbers: a share of the range.", ADVANCED),
    "release_counts": _Parameter("A fifth of epsilon for counts, or none; auto: a twentieth.", ADVANCED, bool),
    "release_means": _Parameter("Of numbers: a tenth of epsilon for means.", ADVANCED),
    "max_literals": _Parameter("Conditions in a rule; dp-greedyrl: 2.", ADVANCED),
    "negations": _Parameter("Whether conditions may be negated.", ADVANCED),
    "max_attributes": _Parameter("Of a scorecard.  \\[as the noise allows]", ADVANCED),
    "points": _Parameter("The most points of a scorecard's bin.", ADVANCED),
    "monotone": _Parameter("Scorecard: age=increasing. Repeatable.", ADVANCED, list[str], "RULE"),
    "smooth": _Parameter("Scorecard: less is smoother.", ADVANCED, float),
    "mechanism": _Parameter("dp-greedyrl's.", ADVANCED, str, "NAME"),
    "min_remaining": _Parameter("smooth-*: least share of rows left.", ADVANCED),
    "confidence": _Parameter("smooth-*: the probability of that.", ADVANCED),
}


def _with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, which takes them as `parameters`, an option for each parameter of the estimators."""
    *own, _ = signature(command, eval_str=True).parameters.values()
    first = [one for one in own if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    made = [shown.option(name) for name, shown in _PARAMETERS.items()]
    command.__signature__ = Signature([*first, *made, *own[len(first) :]])
    return command


@app.command("fit")
@with_groups
@_with_parameters
def fit(
    data: Annotated[str, typer.Argument(help="The sensitive table: file or address, as for `hedgerow schema check`.")],
    target: Annotated[str | None, option("Column to predict.  \\[the schema's label]", metavar="NAME")] = None,
    schema: Annotated[Path | None, option("YAML or JSON; not needed where all columns are boolean.")] = None,
    epsilon: Annotated[str | None, number("Privacy loss of the whole model, such as 1, 0.1 or 1/10.")] = None,
    model: Annotated[ModelKind, option(f"{', '.join(_CLASSIFIERS)}.", metavar="KIND")] = "rule-list",
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
    makers = _CLASSIFIERS if declared is None or declared.target.as_number is None else REGRESSORS
    given = _given(model, parameters, makers, declared)
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


def _given(model: ModelKind, parameters: dict[str, Any], makers: Learners, schema: Schema | None) -> dict[str, Any]:
    if model not in makers:
        problem = f"the label is a number: expected --model {' or '.join(makers)}, got --model {model}"
        advice = ". On most tables a scorecard predicts a number best." if model == "auto" else "."
        raise ArgumentError(problem + advice)
    given = {name: value for name, value in parameters.items() if value not in (None, [])}
    for name in given:
        takers = [kind for kind, make in makers.items() if name in _parameters(make)]
        if model not in takers:
            label, other = ("with classes", "that is a number")[:: 1 if makers is _CLASSIFIERS else -1]
            only = f"--model {' or '.join(takers)}" if takers else f"a label {other}"
            got = f"--model {model}" if takers else f"one {label}"
            raise ArgumentError(f"{_PARAMETERS[name].flag(name)} is for {only}, got {got}; leave it out.")
    if "delta" in given:
        given["delta"] = exact(given["delta"], "delta")
    if "monotone" in given:
        form = "NAME=increasing or NAME=decreasing"
        given["monotone"] = named_values("--monotone", given["monotone"], form, "name")
    if "class_weight" in given:
        given["class_weight"] = class_weights(_classes(schema), given["class_weight"])
    if "costs" in given:
        given["costs"] = costs_in(given["costs"], _classes(schema))
    return given


def _classes(schema: Schema | None) -> tuple[Any, ...]:
    if schema is None:
        raise ArgumentError("costs of classes need --schema, which declares the classes.")
    return schema.classes


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
