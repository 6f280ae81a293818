"""`hedgerow fit`: learn a private rule list from a CSV file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import narwhals as nw
import typer

from hedgerow.cli.output import check_output, stage, write_whole
from hedgerow.cli.schema import load_schema
from hedgerow.csv_files import read_csv, read_header
from hedgerow.errors import DomainError
from hedgerow.learn import PrivateRuleListClassifier
from hedgerow.models import RuleList
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.schema import Schema


def fit(
    data: Annotated[Path, typer.Argument(help="CSV file with a header: the sensitive table.")],
    target: Annotated[str | None, typer.Option(help="Column to predict. Default: the schema's label.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Schema file (YAML or JSON). Not needed where every column is boolean or 0/1.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of the whole model, such as 1.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the model.")] = Path("model.json"),
    max_rules: Annotated[int, typer.Option(help="Rules in the list, the default rule included.")] = 5,
    max_literals: Annotated[int, typer.Option(help="Conditions in a rule.")] = 2,
    negations: Annotated[bool, typer.Option(help="Whether a condition may be negated.")] = True,
    budget: Annotated[
        Path | None, typer.Option(help="Budget file to charge (`hedgerow budget`); a spent one refuses.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seeded noise: repeatable, NOT private. Needs --research.")] = None,
    research: Annotated[bool, typer.Option("--research", help="Allow writing a model without guarantee.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model as JSON.")] = False,
) -> None:
    """Learn a rule list from a sensitive table under differential privacy and write it to a file.

    Everything public, and the form of the file, is checked first; then the privacy loss is charged; only then are cells
    looked at. The model file holds released values only and may be published with its privacy card.

    [bold]Example[/bold]: hedgerow fit patients.csv --schema patients.yaml --epsilon 1 -o model.json
    """
    if seed is not None and not research:
        raise ValueError("--seed replaces secure noise and voids the guarantee; add --research if that is meant.")
    if epsilon is None:
        raise ValueError("epsilon must be chosen: the privacy loss to spend on this model, such as --epsilon 1.")
    check_output(output, force=force)
    declared = None if schema is None else load_schema(schema)
    label = target_name(data, target, declared)
    classifier = PrivateRuleListClassifier(
        epsilon,
        max_rules=max_rules,
        max_literals=max_literals,
        negations=negations,
        schema=declared,
        budget=None if budget is None else FileBudget(budget),
        random_state=seed,
    )
    model = _learn(classifier, data, label)
    write_whole(output, model.to_json())
    if as_json:
        typer.echo(json.dumps(model.to_dict(), ensure_ascii=False))
    else:
        typer.echo(f"{model}\n\n{model.privacy}\n\nwritten to {output}")


def _learn(classifier: PrivateRuleListClassifier, data: Path, label: str) -> RuleList:
    """Read the table and fit; the error of a row that does not fit says what stays charged."""
    with stage(f"reading {data}"):
        table = nw.from_native(read_csv(data), eager_only=True)
    budget, problem = classifier.budget, ""
    before = budget.spent if budget else None
    try:
        with stage("learning"):
            classifier.fit(table.drop(label).to_native(), table.get_column(label))
    except DomainError as error:
        problem = str(error)
        if budget and budget.spent != before:
            problem += (
                f" The epsilon of {float(budget.charges[-1].epsilon):g} stays charged; "
                "`hedgerow schema check` finds such rows first."
            )
    if problem:
        raise ValueError(problem)
    return classifier.rule_list_


def target_name(data: Path, target: str | None, schema: Schema | None) -> str:
    """Return the label's column, checked against the header and the schema before a row is read."""
    declared = None if schema is None or schema.label is None else schema.label.name
    if target is None and declared is None:
        raise ValueError("the column to predict must be named: --target COLUMN, or a label in the schema.")
    if target is not None and declared is not None and target != declared:
        raise ValueError(f"--target is {target!r} but the schema's label is {declared!r}; they must be the same.")
    name = target or declared or ""
    names = read_header(data)
    if name not in names:
        raise DomainError(f"expected this column to predict, found: {', '.join(sorted(names))}.", column=name)
    return name
