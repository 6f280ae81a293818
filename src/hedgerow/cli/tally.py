"""`hedgerow tally`: count a table into a file that models are learned from, merge such files, or print their query."""

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
    schema: Annotated[Path, typer.Argument(help="Schema of the rows (.yaml or .json).")],
    data: Annotated[list[str], typer.Argument(help=f"{DATA}; with --sql, as the query names it.", metavar="DATA")],
    output: Annotated[Path | None, option("File for the tally (.parquet), or the SQL.", "-o", "--output")] = None,
    *,
    merge: Annotated[bool, option("DATA are tallies, of disjoint parts of a table.", "--merge")] = False,
    sql: Annotated[str | None, option("duckdb, postgres, spark, snowflake or bigquery.", metavar="NAME")] = None,
    column: Annotated[
        list[str] | None,
        option("With --sql: NAME=boolean, integer, number, decimal, date or text. Repeatable.", metavar="RULE"),
    ] = None,
    force: Force = False,
    table: TableOptions,
) -> None:
    """Count a table into a private file to learn from; merge such files; print the query that counts.

    `hedgerow fit --tally` learns from it. It has exact counts, as private as the rows: its file is for its owner alone.
    A row that is counted k times, by copies of a tally, is protected with k times the epsilon.

    [bold]Examples[/bold]: hedgerow tally patients.yaml patients.csv -o counts.parquet

    hedgerow tally patients.yaml --merge monday.parquet tuesday.parquet -o week.parquet

    hedgerow tally patients.yaml ward.patients --sql snowflake -o counts.sql
    """
    from hedgerow.engines.tallies import check_mergeable, tally_sql  # Ibis takes long to import

    declared = load_schema(schema)
    check_mergeable(declared)
    if not merge and len(data) > 1:
        raise ArgumentError(f"expected one table to count, got {len(data)}; --merge takes several tallies.")
    if (sql is not None and merge) or (sql is None and column):
        raise ArgumentError("--merge is about tallies, and --column about the query of --sql; leave one of them out.")
    if output is not None:
        files = [] if sql is not None else [*data, *_files(data, output, merge=merge)]
        check_output(output, schema, *files, force=force)
    if sql is not None:
        if table != TableOptions() or not data[0].strip() or (output is not None and output.suffix == ".parquet"):
            raise ArgumentError("expected the name of a table, no options about files, and -o counts.sql with --sql.")
        kinds = named_values("--column", column, "NAME=KIND", "column")
        print_or_write(tally_sql(declared, sql, data[0], kinds), output)
    elif output is None or output.suffix != ".parquet":
        raise ArgumentError("expected a file for the tally, such as --output counts.parquet.")
    else:
        found: list[Tally] = []
        for one in data:
            with open_rows(one, table, declared if merge else None) as rows:
                whose = None if merge else unit_advice(rows.columns)
                if whose:
                    say(f"warning: {whose}", err=True)
                found.append(rows.tally(declared, target_name(rows.columns, None, declared)))
        Tally.merge(found).save(output)
        say(f"written to {output}: exact counts, as private as the rows", err=True)


def _files(data: Sequence[str], output: Path, *, merge: bool) -> list[str]:
    """Return the Parquet files that are read; refuse one that is read twice, and an output that would be read next."""
    from hedgerow.engines.files import list_files  # Ibis takes long to import

    read = [one for one in data if Path(one).is_dir() or ("::" not in one and Path(one).suffix.lower() == ".parquet")]
    files = [path for one in read for path in list_files(one).paths]
    same = [(status.st_dev, status.st_ino) for status in map(os.stat, files)] if merge else []
    if len(set(same)) < len(same) or (merge and len(set(data)) < len(data)):
        raise ArgumentError("expected each tally once, got one of them twice: its rows would count twice.")
    here = output.absolute()
    if any(here.is_relative_to(Path(x).absolute()) or fnmatchcase(str(here), str(Path(x).absolute())) for x in read):
        raise ArgumentError(f"{output} would be among the files of {', '.join(read)}; write it to another folder.")
    return files
