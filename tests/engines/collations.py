"""Columns whose own collation takes different texts for equal."""


def ignoring_case(table, column):
    """Return a table with a column of text that takes letters of both cases for equal."""
    connection, name = table.get_backend(), table.get_name()
    if connection.name == "duckdb":
        connection.raw_sql(f"ALTER TABLE {name} ALTER {column} TYPE VARCHAR COLLATE NOCASE")
    elif connection.name == "postgres":
        connection.raw_sql("CREATE COLLATION IF NOT EXISTS nocase"
                           " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")  # fmt: skip
        connection.raw_sql(f"ALTER TABLE {name} ALTER {column} TYPE text COLLATE nocase")
    else:
        others = [other for other in table.columns if other != column]
        table = connection.sql(f"SELECT {', '.join(others)}, {column} COLLATE UTF8_LCASE AS {column} FROM {name}")
    return table
