"""`hedgerow audit`: residual entropy of the training rows given a released model."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.audit import reconstruction
from hedgerow.cli import options
from hedgerow.cli.options import DATA, any_model, named_values, option, with_groups
from hedgerow.cli.output import check_outputs, check_pictures, draw, print_or_write, stage
from hedgerow.cli.rows import open_rows
from hedgerow.errors import ArgumentError
from hedgerow.models.released import leaf_model
from hedgerow.schema import Schema
from hedgerow.text.messages import aligned
from hedgerow.text.values import printable

app = typer.Typer(add_completion=False)


@app.command("audit")
@with_groups
def audit(
    model: options.ModelFile,
    *,
    data: Annotated[str | None, option(f"The training rows; the result is not for release: {DATA}.")] = None,
    by: Annotated[list[str] | None, option("With --data: compare the groups of a column. Repeatable.")] = None,
    schema: Annotated[Path | None, option("Of the whole table, if the model's own lacks columns.")] = None,
    table: options.TableOptions,
    resolution: Annotated[list[str] | None, option("Such as bmi=0.1. Repeatable.", metavar="COLUMN=STEP")] = None,
    independent_bits: Annotated[bool, option("Count bins as independent bits.", "--independent-bits")] = False,
    plot: Annotated[Path | None, option("Plot the residual entropy of the rows (PNG, SVG or PDF).")] = None,
    output: options.TextOutput = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how much a model discloses about its training rows, by counting possible rows.

    Dist_G, given which row is in which leaf, is 1 if the model discloses nothing, and 0 if it discloses all rows.
    Without --data it uses the counts released with the model, and is as public as the model. With --data it counts the
    rows, and is for the curator's eyes only.

    --resolution is the step in which a real number is recorded. --independent-bits counts categories and cut points as
    independent columns of 0 and 1.

    It audits rule lists and trees. For a scorecard use `hedgerow report` or, in Python, audit.totals.

    [bold]Example[/bold]: hedgerow audit model.json --data train.csv --by sex --plot entropy.png
    """
    check_outputs((plot, output), model, data, schema, force=force)
    check_pictures(plot)
    if by and data is None:
        raise ArgumentError("--by compares groups of rows: add --data FILE.")
    table.check_used("--data", used=data is not None)
    steps = _steps(resolution)
    whole = None if schema is None else Schema.load(schema)
    released = leaf_model(any_model(model, schema, needed=True, of_table=True))
    if data is None and not released.leaf_release.is_complete:
        advice = "add --data FILE, or fit it with --release-counts"
        raise ArgumentError(f"{model} has no released counts of every leaf: {advice}.")
    rows = None
    if data is not None:
        with open_rows(data, table) as opened:
            rows = opened.counted(released.schema if whole is None else whole)
    with stage("counting possible rows"):
        found = reconstruction(released, whole, data=rows, independent_bits=independent_bits, resolution=steps)
        groups = {name: found.by_group(name) for name in by or []}
    held = [f"The file also holds {one}." for one in released.contents]
    parts = [str(found), *(_lines(*group) for group in groups.items())]
    text = "\n\n".join([*parts, "\n".join(held)] if held else parts)
    if as_json:
        more = {"groups": groups} if groups else {}
        more |= {"contents": [one.to_dict() for one in released.contents]} if held else {}
        text = json.dumps(found.to_dict() | more, indent=2, ensure_ascii=False)
    print_or_write(text, output)
    draw(found.plot, plot)


def _steps(texts: list[str] | None) -> dict[str, float]:
    form = "COLUMN=STEP, such as bmi=0.1"
    found = named_values("--resolution", texts, form, "column")
    try:
        return {name: float(step) for name, step in found.items()}
    except ValueError:
        raise ArgumentError(f"expected --resolution {form}, got a step that is no number.") from None


def _lines(name: str, groups: list[dict[str, Any]]) -> str:
    lines = [[printable(name), "rows", "mean ratio", "lowest ratio"]]
    for one in groups:
        ratios = f"{one['uncertainty']:.3f}", f"{one['lowest']:.3f}"
        lines.append([printable(str(one["group"])), f"{one['rows']:,}", *ratios])
    return "\n".join(aligned(lines, left=1))
