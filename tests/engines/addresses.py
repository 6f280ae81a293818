"""A count of the rows that an address names."""

from hedgerow import Boolean, Integer, Label, Schema, Tally
from hedgerow.engines.sources import open_table
from tests.engines.rows import as_rows

SCHEMA = Schema({"age": Integer(0, 120, cuts=(30, 60), missing="bin"), "b": Boolean()}, Label("y", ("no", "yes")))


def tallied(address, **options):
    with open_table(str(address), **options) as result:
        return as_rows(Tally.from_table(result, SCHEMA))
