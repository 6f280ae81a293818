"""Draft schemas from existing descriptions of a table: data dictionaries, metadata files and types. No row is read."""
