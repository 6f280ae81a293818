"""`hedgerow fit`: learn a private rule list, tree or scorecard from a table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from enum import StrEnum
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.boundary.durable import reserved
from hedgerow.cli.budget import enter_digest, open_budget, spent_text, telling
from hedgerow.cli.output import ROOM, check_output, say, write_or_print, written
from hedgerow.cli.rows import (
    DATA,
    Decimal,
    Encoding,
    Engine,
    Master,
    MaxRows,
    Memory,
    Rows,
    UnitColumn,
    open_rows,
    target_name,
    with_unit,
)
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError, NoiseWarning
from hedgerow.learn import (
    DPGreedyRLClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateTreeClassifier,
)
from hedgerow.learn.private_base import noise_warning
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.models import RuleList, Scorecard, Tree
from hedgerow.planning.expected import rows_needed
from hedgerow.planning.forecast import ACCURACY_LOSS
from hedgerow.privacy.charge import exact
from hedgerow.schema import Schema
from hedgerow.schema.booleans import all_boolean, default_classes
from hedgerow.text.messages import shown

app = typer.Typer(add_completion=False)


MANY_ROWS = 1_000
"""A fit that may need more says so first."""


class Kind(StrEnum):
    """The kind of model."""

    rule_list = "rule-list"
    tree = "tree"
    scorecard = "scorecard"
    dp_greedyrl = "dp-greedyrl"


Estimator = PrivateRuleListClassifier | PrivateTreeClassifier | PrivateScorecardClassifier | DPGreedyRLClassifier
ESTIMATORS: Mapping[Kind, Callable[..., Estimator]] = {
    Kind.rule_list: PrivateRuleListClassifier,
    Kind.tree: PrivateTreeClassifier,
    Kind.scorecard: PrivateScorecardClassifier,
    Kind.dp_greedyrl: DPGreedyRLClassifier,
}


class SearchKind(StrEnum):
    """The search."""

    auto = "auto"
    exact = "exact"
    greedy = "greedy"


class ObjectiveKind(StrEnum):
    """The loss of an exact search."""

    errors = "errors"
    brier = "brier"
    mixed = "mixed"


@app.command("fit")
def fit(
    data: Annotated[str, typer.Argument(help=f"The sensitive table: {DATA}.")],
    target: Annotated[str | None, typer.Option(help="Column to predict. Default: the schema's label.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Schema file (YAML or JSON). Not needed where every column is boolean or 0/1.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Privacy loss of the whole model, such as 1, 0.1 or 1/10."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the model.")] = Path("model.json"),
    model: Annotated[Kind, typer.Option(help="The kind of model.")] = Kind.rule_list,
    search: Annotated[
        SearchKind | None,
        typer.Option(
            help="One draw from all models, or choice by choice. Default: auto, the most joint search that takes about "
            "ten seconds; the card says which."
        ),
    ] = None,
    max_rules: Annotated[
        int | None, typer.Option(help="Rules in a list, the default rule included. Default: drawn too; dp-greedyrl: 5.")
    ] = None,
    max_literals: Annotated[int | None, typer.Option(help="Conditions in a rule. Default: 1; dp-greedyrl: 2.")] = None,
    negations: Annotated[bool | None, typer.Option(help="Whether a condition in a rule may be negated.")] = None,
    lookahead: Annotated[
        int | None,
        typer.Option(help="Exact search: rules, or levels of a tree, drawn jointly at a time. Default: all."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help=f"For dp-greedyrl, SSRL's lists as published: {', '.join(PUBLISHED)}.  [smooth-laplace]  "
            "Those without a proven guarantee need --research."
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Of the whole model: below 1/rows. For a scorecard, less noise where there are many attributes; for "
            "dp-greedyrl, needed by smooth-laplace and global-gaussian.",
        ),
    ] = None,
    min_remaining: Annotated[
        float | None, typer.Option(help="For smooth-*: minimum share of the rows that remain for a rule.  [0.05]")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="For smooth-*: probability that they remain.  [0.99]")
    ] = None,
    max_depth: Annotated[int | None, typer.Option(help="Maximum depth of a tree. Default: drawn too.")] = None,
    release_counts: Annotated[
        bool, typer.Option("--release-counts", help="Exact search: spend a fifth of epsilon on the counts too.")
    ] = False,
    objective: Annotated[
        ObjectiveKind | None,
        typer.Option(help="Exact search: what a row costs. All but errors give leaves probabilities.  [errors]"),
    ] = None,
    max_attributes: Annotated[
        int | None, typer.Option(help="Attributes of a scorecard. Default: all, or as many as the noise allows.")
    ] = None,
    points: Annotated[int | None, typer.Option(help="Scorecard: the largest points of a bin, in size.  [20]")] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(help="Scorecard: a number whose points only rise or fall, as age=increasing. Repeatable."),
    ] = None,
    smooth: Annotated[
        float | None,
        typer.Option(
            help="Scorecard: the prior's standard deviation of log-odds from one end of a number to the other; less is "
            "smoother.  [4]"
        ),
    ] = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    budget: Annotated[
        Path | None, typer.Option(help="Budget file to charge (`hedgerow budget`); a spent one refuses.")
    ] = None,
    engine: Engine = None,
    master: Master = None,
    memory: Memory = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    seed: Annotated[int | None, typer.Option(help="Seeded noise: repeatable, NOT private. Needs --research.")] = None,
    research: Annotated[bool, typer.Option("--research", help="Allow writing a model without guarantee.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model as JSON.")] = False,
) -> None:
    """Learn a rule list, tree or scorecard from a sensitive table under differential privacy.

    Everything public, the cost of an exact search included, and the form of the file, is checked first, and room for
    the model is kept on the disk; then the privacy loss is charged; only then are values looked at. Parquet files and
    databases are counted where they are, by one query, and charged when it is answered. The model file holds released
    values only and may be published with its privacy card.

    [bold]Examples[/bold]:

    hedgerow fit patients.csv --schema patients.yaml --epsilon 1 -o model.json

    hedgerow fit patients.csv --schema patients.yaml --epsilon 0.1 --model tree --max-depth 4 -o tree.json

    hedgerow fit patients.csv --schema patients.yaml --epsilon 1 --model scorecard --points 10 -o card.json

    hedgerow fit postgresql://reader@host/clinic::patients --schema patients.yaml --epsilon 1 -o model.json
    """
    if seed is not None and not research:
        raise ArgumentError("--seed replaces secure noise and voids the guarantee; add --research to confirm.")
    if epsilon is None:
        raise ArgumentError("expected --epsilon, the privacy loss of the model, such as --epsilon 1; got none.")
    amount = exact(epsilon, "epsilon")
    given: dict[str, Any] = {
        "max_rules": max_rules,
        "max_literals": max_literals,
        "negations": negations,
        "search": None if search is None else search.value,
        "lookahead": lookahead,
        "mechanism": mechanism,
        "delta": None if delta is None else exact(delta, "delta"),
        "min_remaining": min_remaining,
        "confidence": confidence,
        "max_depth": max_depth,
        "release_counts": release_counts or None,
        "objective": None if objective is None else objective.value,
        "max_attributes": max_attributes,
        "points": points,
        "monotone": _directions(monotone) if monotone else None,
        "smooth": smooth,
    }
    check_output(output, data, schema, force=force)
    declared = with_unit(None if schema is None else load_schema(schema), unit, max_rows)
    account = open_budget(budget)
    classifier = _estimator(model, given, amount, schema=declared, budget=account, random_state=seed)
    _check_proven(classifier, research=research)
    if declared is not None:
        classifier.check_budget(declared)
    elif account is not None:
        account.check(amount, given["delta"] or 0, rho=0)  # which rho it costs follows from the columns
    with (
        open_rows(data, engine, master, memory, encoding, decimal) as rows,
        reserved(output, room=ROOM, force=force) as write,
    ):
        label = target_name(rows.columns, target, declared)
        with telling(account):
            released = _learn(classifier, rows, label)
        write_or_print(write, released.to_json, released.to_dict(), spent_text(amount, account))
    with written(output):
        enter_digest(account, released.to_dict()["digest"])
        say(json.dumps(released.to_dict(), ensure_ascii=False) if as_json else f"{released}\n\n{released.privacy}")


def _estimator(model: Kind, given: dict[str, Any], epsilon: Fraction, **common: Any) -> Estimator:
    """Return the estimator with the given parameters; parameters of other models are refused."""
    make = ESTIMATORS[model]
    names = signature(make).parameters
    parameters = {name: value for name, value in given.items() if value is not None}
    for name in parameters:
        if name not in names:
            takers = " or ".join(kind for kind, other in ESTIMATORS.items() if name in signature(other).parameters)
            raise ArgumentError(f"expected --{name.replace('_', '-')} with --model {takers} only, got --model {model}.")
    return make(epsilon, **parameters, **common)


def _check_proven(classifier: Estimator, *, research: bool) -> None:
    """Refuse a mechanism whose guarantee is published but not proven, unless --research is given."""
    if not isinstance(classifier, DPGreedyRLClassifier):
        return
    published = PUBLISHED.get(classifier.mechanism)
    if published is not None and published.gap is not None and not research:
        raise ArgumentError(
            f"--mechanism {classifier.mechanism} has no proven guarantee: {published.gap}. Add --research to confirm."
        )


def _directions(given: list[str]) -> dict[str, str]:
    """Return the direction of each name, given as name=direction."""
    found: dict[str, str] = {}
    for text in given:
        name, _, direction = text.rpartition("=")
        if not name or not direction:
            raise ArgumentError("expected --monotone NAME=increasing or NAME=decreasing, got another form.")
        if name in found:
            raise ArgumentError(f"expected one --monotone for each name, got two for {shown(name)}.")
        found[name] = direction
    return found


def _tell_rows_needed(classifier: PrivateRuleListClassifier | PrivateTreeClassifier, schema: Schema) -> None:
    """Say how many rows a model needs, if many, from public numbers alone: how many there are is private."""
    needed = rows_needed(classifier, schema, ACCURACY_LOSS)
    if needed is not None and needed > MANY_ROWS:
        say(
            f"at this epsilon the smallest model loses at most {100 * ACCURACY_LOSS:g} % of the rows on average from "
            f"about {needed:,.0f} rows on: `hedgerow plan` tells more",
            err=True,
        )


def _learn(classifier: Estimator, rows: Rows, label: str) -> RuleList | Tree | Scorecard:
    """Fit, once the cost of an exact search is checked."""
    cost = None
    if isinstance(classifier, (PrivateRuleListClassifier, PrivateTreeClassifier)):
        declared = classifier.schema
        if not isinstance(declared, Schema):
            declared = all_boolean(rows.columns, label, default_classes(False))
        cost = classifier.search_cost(declared)
        classifier.verbose = cost is not None and cost.is_noticeable
        _tell_rows_needed(classifier, declared)
    unit = classifier.schema.unit if isinstance(classifier.schema, Schema) else None
    too_noisy = noise_warning(exact(classifier.epsilon or 0, "epsilon"), unit)
    if too_noisy:
        say(f"warning: {too_noisy}", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)  # told above, without a line of source
        rows.learn(classifier, label, quietly=cost is not None)
    if isinstance(classifier, PrivateScorecardClassifier):
        return classifier.scorecard_
    return classifier.tree_ if isinstance(classifier, PrivateTreeClassifier) else classifier.rule_list_
