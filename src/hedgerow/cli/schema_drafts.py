"""`hedgerow schema import`: drafts of schemas from what others say of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.output import check_output, say
from hedgerow.schema import Draft, import_schema
from hedgerow.schema.files import check_ending


def import_draft(
    given: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="REDCap data dictionary (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI codebook "
            "(.xml), data.parquet, whose types are read; or duckdb:///FILE::TABLE, "
            "postgresql://USER@HOST/DATABASE::TABLE, whose catalogue is.",
        ),
    ],
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the schema (.yaml or .json).")] = Path(
        "schema.yaml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is missing as JSON.")] = False,
) -> None:
    """Make a schema of a data dictionary, or of a table's types, and tell what is missing in it. No row is read.

    [bold]Example[/bold]: hedgerow schema import dictionary.csv --target ill -o patients.yaml
    """
    check_ending(output)
    check_output(output, given, force=force)
    write_draft(draft_of(given, target), output, as_json=as_json)


def draft_of(given: str, target: str | None) -> Draft:
    """Return the draft of a file's description, or of a table in a database."""
    if "://" not in given:
        return import_schema(given, label=target)
    from hedgerow.engines.catalogue import catalogue_draft  # Ibis takes long to import
    from hedgerow.engines.sources import open_table

    with open_table(given) as table:
        draft = catalogue_draft(table)
    return draft if target is None else draft.labelled(target)


def write_draft(draft: Draft, output: Path, *, as_json: bool) -> None:
    """Write a draft, print what is missing in it, and say what to do next."""
    draft.save(output)
    if as_json:
        left_out = [{"column": name, "reason": reason} for name, reason in draft.left_out]
        gaps = [{"column": name, "key": key} for name, key in draft.gaps]
        say(json.dumps({"columns": len(draft.columns), "gaps": gaps, "left_out": left_out}, ensure_ascii=False))
    else:
        say("\n".join([*draft.notes, f"{len(draft.columns)} columns, {len(draft.gaps)} gaps"]))
    todo = "fill in what is missing, then run" if draft.gaps else "read it, then run"
    say(f"written to {output}: {todo}: hedgerow schema show {output}", err=True)
