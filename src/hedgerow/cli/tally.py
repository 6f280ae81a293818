"""`hedgerow tally`: count a table into a file that models are learned from, merge such files, or print their query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import DATA, Force, TableOptions, named_values, option, with_groups
from hedgerow.cli.output import check_output, print_or_write, say
from hedgerow.cli.rows import open_rows, target_name
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.tally import Tally

app = typer.Typer(add_completion=False)


@app.command("tally")
@with_groups
def tally(
    schema: Annotated[Path, typer.Argument(help="Schema of the rows (.yaml or .json).")],
    data: Annotated[
        list[str], typer.Argument(help=f"{DATA}; with --sql, the table as the query names it.", metavar="DATA")
    ],
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
        check_output(output, schema, *data, force=force)
    if sql is not None:
        kinds = named_values("--column", column, "NAME=KIND", "column")
        print_or_write(tally_sql(declared, sql, data[0], kinds), output)
    elif output is None or output.suffix != ".parquet":
        raise ArgumentError("expected a file for the tally, such as --output counts.parquet.")
    else:
        found: list[Tally] = []
        for one in data:
            with open_rows(one, table, declared if merge else None) as rows:
                found.append(rows.tally(declared, target_name(rows.columns, None, declared)))
        Tally.merge(found).save(output)
        say(f"written to {output}: exact counts, as private as the rows", err=True)
