"""Options for the parameters of private learners, shared by the commands that fit and attack them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from hedgerow.cli.options import ADVANCED, named_values, option
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.errors import ArgumentError
from hedgerow.learn.auto import PrivateAutoClassification
from hedgerow.learn.learners import CLASSIFIERS, REGRESSORS, Learners
from hedgerow.privacy.amounts import exact
from hedgerow.schema import Schema

CLASSIFIER_LEARNERS: Learners = {**CLASSIFIERS, "auto": PrivateAutoClassification}
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
        makes = [make for make in (*CLASSIFIER_LEARNERS.values(), *REGRESSORS.values()) if name in _parameters(make)]
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


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, which takes them as `parameters`, an option for each parameter of the estimators."""
    *own, _ = signature(command, eval_str=True).parameters.values()
    first = [one for one in own if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    made = [shown.option(name) for name, shown in _PARAMETERS.items()]
    command.__signature__ = Signature([*first, *made, *own[len(first) :]])
    return command


def given_parameters(
    model: ModelKind, parameters: dict[str, Any], makers: Learners, schema: Schema | None
) -> dict[str, Any]:
    if model not in makers:
        problem = f"the label is a number: expected --model {' or '.join(makers)}, got --model {model}"
        advice = ". On most tables a scorecard predicts a number best." if model == "auto" else "."
        raise ArgumentError(problem + advice)
    given = {name: value for name, value in parameters.items() if value not in (None, [])}
    for name in given:
        takers = [kind for kind, make in makers.items() if name in _parameters(make)]
        if model not in takers:
            label, other = ("with classes", "that is a number")[:: 1 if makers is CLASSIFIER_LEARNERS else -1]
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
