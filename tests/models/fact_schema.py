"""The JSON Schema of facts, made of the table of their forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hedgerow.privacy.facts import FORMS, LARGEST_COUNT, LONGEST_TEXT, Field

KINDS = ("query", "mechanism", "loss", "reason", "note", "source", "noise", "software")
_AMOUNT = {"type": "string", "pattern": "^[0-9]{1,2500}(/[0-9]{1,2500})?$"}
_TEXT = {"type": "string", "maxLength": LONGEST_TEXT}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _of(field: Field) -> dict[str, Any]:
    return {
        "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": LARGEST_COUNT},
        "amount": _AMOUNT,
        "real number": {"type": "string", "pattern": r"^[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?$"},
        "text": _TEXT,
        "flag": {"const": True},
        "list of amounts": _list(_AMOUNT),
        "list of texts": _list(_TEXT),
        "code": {"enum": list(field.codes)},
        "fact": {"$ref": f"#/$defs/{(*field.codes, '')[0]}"},
        "list of facts": _list({"$ref": f"#/$defs/{(*field.codes, '')[0]}"}),
    }[field.type]


def definition(kind: str) -> dict[str, Any]:
    """Return the schema of facts of a kind."""
    forms = [
        {
            "required": ["code", *(name for name, field in form.fields.items() if not field.is_optional)],
            "properties": {"code": {"const": code}, **{name: _of(field) for name, field in form.fields.items()}},
            "additionalProperties": False,
        }
        for code, form in FORMS.items()
        if kind in form.kinds
    ]
    return {"type": "object", "oneOf": forms}


if __name__ == "__main__":  # writes the definitions into the published file and its copy in the package of R
    for path in map(Path, ("docs/reference/model-2.schema.json", "r/inst/model-2.schema.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        whole["$defs"] |= {kind: definition(kind) for kind in KINDS}
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
