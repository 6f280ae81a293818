"""`hedgerow audit`: measure what a released model discloses about its training rows."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.audit import reconstruction
from hedgerow.audit.entropy.scorecards import KnownCounts
from hedgerow.cli import options
from hedgerow.cli.options import DATA, any_model, named_values, option, with_groups
from hedgerow.cli.output import check_outputs, check_pictures, draw, print_or_write, stage
from hedgerow.cli.rows import open_rows
from hedgerow.errors import ArgumentError
from hedgerow.models.model import Model
from hedgerow.models.released import leaf_model
from hedgerow.schema import Schema
from hedgerow.text.messages import aligned, shown
from hedgerow.text.values import printable

app = typer.Typer(add_completion=False)


@app.command("audit")
@with_groups
def audit(
    model: options.ModelFile,
    *,
    data: Annotated[str | None, option(f"Training rows, for exact results that are PRIVATE: {DATA}.")] = None,
    by: Annotated[list[str] | None, option("Compare groups of this column; requires --data. Repeatable.")] = None,
    schema: Annotated[Path | None, option("Schema of the whole table, if the model's schema lacks columns.")] = None,
    table: options.TableOptions,
    resolution: Annotated[
        list[str] | None,
        option("Step in which a real number is recorded, as bmi=0.1. Repeatable.", metavar="COLUMN=STEP"),
    ] = None,
    independent_bits: Annotated[
        bool, option("Count categories and cut points as independent 0/1 columns.", "--independent-bits")
    ] = False,
    counts: Annotated[
        KnownCounts | None,
        option(
            "Scorecards: numbers of rows that a reader knows, by total, by bin, or both.  "
            "\\[default: totals with --data, otherwise bins]"
        ),
    ] = None,
    plot: Annotated[Path | None, option("Plot the residual entropy of the rows (.png, .svg or .pdf).")] = None,
    output: options.TextOutput = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how much a model discloses about its training rows.

    The audit counts the tables that are consistent with the model. Dist_G is the share of uncertainty that remains if
    it is known which row is in which leaf: 1 if the model discloses nothing, 0 if it discloses every row.

    Without --data the audit uses the counts that were released with the model; the result is as public as the model.
    With --data it counts the training rows exactly; the result is PRIVATE, for the curator only. Output files can then
    be read by their owner only.

    For a scorecard, the audit uses its released rows by bin, or with --data the total of each training row.

    [bold]Examples[/bold]:

    hedgerow audit model.json

    hedgerow audit model.json --data train.csv --by sex --plot entropy.png

    hedgerow audit scorecard.json --data train.csv --counts both
    """
    check_outputs((plot, output), model, data, schema, force=force)
    check_pictures(plot)
    _check_groups(by, data, counts)
    table.check_used("--data", used=data is not None)
    steps = _steps(resolution)
    whole = None if schema is None else Schema.load(schema)
    released = any_model(model, schema, needed=True, of_table=True)
    if counts is not None and not released.has_points:
        raise ArgumentError(f"--counts is for scorecards; leave it out, since {model} has a {released.kind}.")
    if data is None:
        _check_stored(model, released, counts)
    rows = None
    if data is not None:
        with open_rows(data, table) as opened:
            rows = opened.counted(released.schema if whole is None else whole)
    with stage("counting possible rows"):
        result = reconstruction(
            released, whole, data=rows, independent_bits=independent_bits, resolution=steps, counts=counts
        )
        groups = {name: result.by_group(name) for name in by or []}
    contents = [f"The file also contains {content}." for content in released.contents]
    parts = [str(result), *(_group_table(*group) for group in groups.items())]
    text = "\n\n".join([*parts, "\n".join(contents)] if contents else parts)
    if as_json:
        entries = result.to_dict() | ({"groups": groups} if groups else {})
        entries |= {"contents": [content.to_dict() for content in released.contents]} if contents else {}
        text = json.dumps(entries, indent=2, ensure_ascii=False)
    mode = None if data is None else 0o600  # a function of the rows
    print_or_write(text, output, mode=mode)
    draw(result.plot, plot, mode=mode)


def _check_groups(by: list[str] | None, data: str | None, counts: KnownCounts | None) -> None:
    if by and data is None:
        raise ArgumentError("--by requires --data FILE, the rows of the groups.")
    if by and counts == "bins":
        raise ArgumentError("--by requires results by row, which rows by bin do not have; leave out --counts bins.")


def _check_stored(file: Path, model: Model, counts: KnownCounts | None) -> None:
    """Raise ArgumentError if the numbers of rows are not in the model file, so that the audit needs the rows."""
    if counts in ("totals", "both"):
        raise ArgumentError(f"--counts {counts} requires --data FILE, since a scorecard stores no rows by total.")
    if model.has_points and not model.bin_supports:
        raise ArgumentError(
            f"{file} stores no numbers of rows, so it excludes no table (Dist_G is 1 for a reader who does not use the "
            "learner); add --data FILE to audit the rows by total or by bin."
        )
    if not (model.has_points or leaf_model(model).leaf_release.is_complete):
        raise ArgumentError(f"{file} has no released counts; add --data FILE, or fit it with --release-counts.")


def _steps(texts: list[str] | None) -> dict[str, float]:
    form = "COLUMN=STEP, such as bmi=0.1"
    steps = named_values("--resolution", texts, form)
    try:
        return {name: float(step) for name, step in steps.items()}
    except ValueError:
        raise ArgumentError(f"expected --resolution {form}, got {shown(texts)}; a step must be a number.") from None


def _group_table(name: str, groups: list[dict[str, Any]]) -> str:
    lines = [[printable(name), "rows", "mean ratio", "lowest ratio"]]
    for group in groups:
        ratios = f"{group['uncertainty']:.3f}", f"{group['lowest']:.3f}"
        lines.append([printable(str(group["group"])), f"{group['rows']:,}", *ratios])
    return "\n".join(aligned(lines, left=1))
