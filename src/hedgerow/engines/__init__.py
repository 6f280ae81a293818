"""Tables where they live: the one GROUP BY that hedgerow needs, in DuckDB, PostgreSQL, Spark or what Ibis knows."""
