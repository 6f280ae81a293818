"""Options for the parameters of private learners, shared by the commands that fit and attack them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from hedgerow.cli.options import named_values, option
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.errors import ArgumentError
from hedgerow.learn.auto import PrivateAutoClassification
from hedgerow.learn.learners import CLASSIFIERS, REGRESSORS, Learners
from hedgerow.privacy.amounts import exact
from hedgerow.schema import Schema

CLASSIFIER_LEARNERS: Learners = {**CLASSIFIERS, "auto": PrivateAutoClassification}
ModelKind = Literal["rule-list", "tree", "scorecard", "auto", "dp-greedyrl"]
MODEL_KIND = (
    "Model: tree, scorecard, rule-list, auto (tree or scorecard), or dp-greedyrl (rule list of the SSRL paper)."
)
_SIZE, _LOSS, _RELEASES = "Model size and search", "Loss and costs of errors", "Released numbers"
_SCORECARD, _GREEDY = "Scorecards", "dp-greedyrl"
_hints = cache(get_type_hints)


@cache
def _parameters(make: Callable[..., Any]) -> Mapping[str, Parameter]:
    return signature(make).parameters


@dataclass(frozen=True)
class _Parameter:
    """A command-line option for a parameter of the estimators."""

    help: str
    panel: str
    type: Any = None  # of the option, if it differs from the parameter's type
    metavar: str | None = None
    name: str | None = None  # of the option, if it differs from the parameter's name

    def flag(self, name: str) -> str:
        return f"--{self.name or name.replace('_', '-')}"

    def option(self, name: str) -> Parameter:
        makes = [make for make in (*CLASSIFIER_LEARNERS.values(), *REGRESSORS.values()) if name in _parameters(make)]
        default = _parameters(makes[0])[name].default
        flag = [self.flag(name)] if default is False or self.name else []
        states_default = "\\[" in self.help or isinstance(default, bool | None)
        text = self.help if states_default else f"{self.help}  \\[default: {default}]"
        info = option(text, *flag, rich_help_panel=self.panel, metavar=self.metavar)
        value_type = _hints(makes[0])[name] if self.type is None else self.type
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[value_type | None, info])


_PARAMETERS: Mapping[str, _Parameter] = {
    "max_depth": _Parameter(
        "Maximum depth of a tree.  \\[default: up to 5, if an exact search is expected to take at most 8 seconds]",
        _SIZE,
        metavar="N",
    ),
    "max_rules": _Parameter(
        "Maximum number of rules, including the default rule.  "
        "\\[default: up to 10, drawn privately with the model; dp-greedyrl: 5]",
        _SIZE,
        metavar="N",
    ),
    "max_literals": _Parameter("Maximum number of conditions in a rule.  \\[default: 1; dp-greedyrl: 2]", _SIZE),
    "negations": _Parameter("Whether conditions may be negated, such as `not smoker`.  \\[default: yes]", _SIZE),
    "search": _Parameter(
        "Search: exact, greedy or auto (exact if it is expected to take at most 8 seconds).", _SIZE, metavar="NAME"
    ),
    "lookahead": _Parameter("Number of rules or levels that exact search chooses jointly.  \\[default: all]", _SIZE),
    "scoring": _Parameter(
        "Measure by which --model auto chooses: accuracy or roc_auc (ranking).", _SIZE, type=str, metavar="NAME"
    ),
    "n_rows": _Parameter(
        "Number of rows for --model auto, if it is public.  \\[default: a noisy count is released]", _SIZE, name="rows"
    ),
    "objective": _Parameter(
        "Loss. For classes: errors, brier, mixed or absolute; for numbers: squared, absolute or quantile.  "
        "\\[default: errors for classes, squared for numbers]",
        _LOSS,
        str,
        "NAME",
    ),
    "class_weight": _Parameter("Cost of errors on a class, such as yes=5. Repeatable.", _LOSS, list[str], "RULE"),
    "costs": _Parameter("File (YAML or JSON) with a cost for each pair of actual and predicted class.", _LOSS, Path),
    "quantile": _Parameter("Quantile that --objective quantile predicts.", _LOSS),
    "clip": _Parameter("Share of the label's range at which errors are clipped (squared loss).", _LOSS),
    "release_counts": _Parameter(
        "Release noisy counts of each rule or leaf: yes spends a fifth of epsilon.  "
        "\\[default: for a twentieth of epsilon, if epsilon is at least 0.1, with errors as loss and up to 20 classes]",
        _RELEASES,
        bool,
    ),
    "release_means": _Parameter(
        "Release a noisy mean of each rule or leaf, for a tenth of epsilon.  \\[default: yes for numbers]",
        _RELEASES,
    ),
    "max_attributes": _Parameter(
        "Maximum number of attributes of a scorecard.  \\[default: as many as the noise allows]", _SCORECARD
    ),
    "points": _Parameter("Maximum number of points of a bin.", _SCORECARD),
    "monotone": _Parameter(
        "Direction of an attribute: age=increasing or age=decreasing. Repeatable.", _SCORECARD, list[str], "RULE"
    ),
    "smooth": _Parameter(
        "Prior standard deviation of points along a numeric attribute; smaller is smoother.", _SCORECARD, float
    ),
    "delta": _Parameter(
        "Delta, far below 1/rows. It can reduce the noise of a scorecard with many attributes. dp-greedyrl requires it "
        "for smooth-laplace and global-gaussian.  \\[default: 0]",
        _SCORECARD,
        str,
        "NUMBER",
    ),
    "mechanism": _Parameter(
        "smooth-laplace, smooth-cauchy, global-laplace, global-gaussian, exponential or noisy-counts.  "
        "\\[default: smooth-laplace]",
        _GREEDY,
        str,
        "NAME",
    ),
    "min_remaining": _Parameter("Minimum share of rows that remain for a further rule (smooth-*).", _GREEDY),
    "confidence": _Parameter("Probability that this share remains if the noisy test passes (smooth-*).", _GREEDY),
}


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each parameter of the estimators to a command, which receives them as `parameters`."""
    *own, _ = signature(command, eval_str=True).parameters.values()
    first = [parameter for parameter in own if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]
    learner_options = [parameter.option(name) for name, parameter in _PARAMETERS.items()]
    command.__signature__ = Signature([*first, *learner_options, *own[len(first) :]])
    return command


def given_parameters(
    model: ModelKind, parameters: dict[str, Any], makers: Learners, schema: Schema | None
) -> dict[str, Any]:
    """Return the parameters that were given, parsed; raise `ArgumentError` for those that the model does not have."""
    if model not in makers:
        advice = " On most tables a scorecard predicts a number best." if model == "auto" else ""
        raise ArgumentError(
            f"--model {model} cannot predict a number; the label of this schema needs --model {' or '.join(makers)}."
            f"{advice}"
        )
    given = {name: value for name, value in parameters.items() if value not in (None, [])}
    for name in given:
        takers = [kind for kind, make in makers.items() if name in _parameters(make)]
        if model not in takers:
            label = "a number" if makers is CLASSIFIER_LEARNERS else "classes"
            needed = f"--model {' or '.join(takers)}" if takers else f"a label that is {label}"
            raise ArgumentError(f"{_PARAMETERS[name].flag(name)} requires {needed}; leave it out for --model {model}.")
    if "delta" in given:
        given["delta"] = exact(given["delta"], "delta")
    if "monotone" in given:
        given["monotone"] = named_values("--monotone", given["monotone"], "NAME=increasing or NAME=decreasing")
    if "class_weight" in given:
        given["class_weight"] = class_weights(_classes(schema), given["class_weight"])
    if "costs" in given:
        given["costs"] = costs_in(given["costs"], _classes(schema))
    return given


def _classes(schema: Schema | None) -> tuple[Any, ...]:
    if schema is None:
        raise ArgumentError("--costs and --class-weight require --schema, which declares the classes.")
    return schema.classes
