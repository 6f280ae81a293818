"""Drafts of schemas from what others say of a table: data dictionaries, metadata files and types. No row is read."""
