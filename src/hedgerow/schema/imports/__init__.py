"""Drafts of schemas from what others say of a table: data dictionaries, metadata files and types. No row is read."""

from hedgerow.schema.imports.draft import Draft, DraftColumn
from hedgerow.schema.imports.files import import_schema, import_types

__all__ = ["Draft", "DraftColumn", "import_schema", "import_types"]
