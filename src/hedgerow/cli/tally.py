"""`hedgerow tally`: count a table into a file to learn from, merge such files, or print the counting query."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import DATA, Force, TableOptions, named_values, option, with_groups
from hedgerow.cli.output import check_output, print_or_write, say
from hedgerow.cli.rows import open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.schema.contributions import unit_advice
from hedgerow.tally import Tally

app = typer.Typer(add_completion=False)


@app.command("tally")
@with_groups
def tally(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file of the rows (.yaml or .json).")],
    data: Annotated[
        list[str],
        typer.Argument(help=f"{DATA}. With --merge, tally files; with --sql, the name of the table.", metavar="DATA"),
    ],
    output: Annotated[
        Path | None, option("Tally file to write (.parquet); with --sql, the SQL file.", "-o", "--output")
    ] = None,
    *,
    merge: Annotated[bool, option("Merge tallies of disjoint parts of a table.", "--merge")] = False,
    sql: Annotated[
        str | None,
        option("Print the query that counts, for duckdb, postgres, spark, snowflake or bigquery.", metavar="DIALECT"),
    ] = None,
    column: Annotated[
        list[str] | None,
        option(
            "Type of a column for --sql: boolean, integer, number, decimal, date or text. Repeatable.",
            metavar="NAME=TYPE",
        ),
    ] = None,
    force: Force = False,
    table: TableOptions,
) -> None:
    """Count a table into a PRIVATE file to learn from, merge such files, or print the counting query.

    Learn from a tally with `hedgerow fit --tally`. A tally contains exact counts and is as private as the rows. If a
    row is counted in k merged tallies, a fit protects it only with k times epsilon.

    [bold]Examples[/bold]:

    hedgerow tally patients.yaml patients.csv -o counts.parquet

    hedgerow tally patients.yaml --merge monday.parquet tuesday.parquet -o week.parquet

    hedgerow tally patients.yaml ward.patients --sql snowflake -o counts.sql
    """
    from hedgerow.engines.tallies import check_mergeable, tally_sql  # Ibis takes long to import

    declared = load_schema(schema)
    check_mergeable(declared)
    if not merge and len(data) > 1:
        raise ArgumentError(f"expected a single table to count, got {len(data)}; to merge tallies, add --merge.")
    if sql is not None and merge:
        raise ArgumentError("--merge cannot be combined with --sql.")
    if column and sql is None:
        raise ArgumentError("--column requires --sql.")
    if output is not None:
        files = [] if sql is not None else [*data, *_files(data, output, merge=merge)]
        check_output(output, schema, *files, force=force)
    if sql is not None:
        if table != TableOptions() or not data[0].strip() or (output is not None and output.suffix == ".parquet"):
            raise ArgumentError(
                "--sql requires the name of a table, no options for reading files, and an output such as -o counts.sql."
            )
        kinds = named_values("--column", column, "NAME=KIND")
        print_or_write(tally_sql(declared, sql, data[0], kinds), output)
    elif output is None or output.suffix != ".parquet":
        raise ArgumentError("--output is missing or does not end in .parquet; give one such as -o counts.parquet.")
    else:
        tallies: list[Tally] = []
        for source in data:
            with open_rows(source, table, declared if merge else None) as rows:
                advice = None if merge else unit_advice(rows.columns)
                if advice:
                    say(f"warning: {advice}", err=True)
                tallies.append(rows.tally(declared, target_name(rows.columns, None, declared)))
        Tally.merge(tallies).save(output)
        say(f"written to {output}: PRIVATE, exact counts of the rows", err=True)


def _files(data: Sequence[str], output: Path, *, merge: bool) -> list[str]:
    """Return the Parquet files to read; raise `ArgumentError` if a tally is repeated or the output is among them."""
    from hedgerow.engines.files import list_files  # Ibis takes long to import

    read = [path for path in data if Path(path).is_dir() or ("::" not in path and path.lower().endswith(".parquet"))]
    files = [file for path in read for file in list_files(path).paths]
    same = [(status.st_dev, status.st_ino) for status in map(os.stat, files)] if merge else []
    if len(set(same)) < len(same) or (merge and len(set(data)) < len(data)):
        raise ArgumentError("a tally is given twice, and its rows would count twice; give each tally once.")
    here = output.absolute()
    if any(here.is_relative_to(Path(x).absolute()) or fnmatchcase(str(here), str(Path(x).absolute())) for x in read):
        raise ArgumentError(f"{output} would be among the input files {', '.join(read)}; write it to another folder.")
    return files
