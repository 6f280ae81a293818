"""Models of others, read from text, PMML and SQL as released models without a guarantee."""
