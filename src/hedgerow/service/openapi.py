"""What the OpenAPI file says of bodies, answers and problems."""

from __future__ import annotations

from typing import Any

from hedgerow.service.forms import FORMS, Kind

_PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "charged": {"type": ["boolean", "null"]},
    },
    "required": ["type", "title", "status", "detail", "charged"],
}
_TEXTS = {
    400: "The request lacks something, such as the header Idempotency-Key.",
    401: "Expected the header Authorization: Bearer KEY.",
    403: "Not allowed, or too little is left of the privacy budget.",
    409: "The same request is still being answered.",
    413: "The question is too large.",
    415: "Expected JSON.",
    422: "The question cannot be asked.",
    424: "The evaluation failed. It stays charged.",
    500: "The service failed.",
    503: "Too many questions are waiting.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/problem+json": {"schema": _PROBLEM}}}
    for status, text in _TEXTS.items()
}


def described(kind: Kind) -> dict[str, Any]:
    """Return what the file says of the body of a question."""
    return _body(_schema(kind))


def described_cost() -> dict[str, Any]:
    """Return what it says of the body of a cost call: any question, with its kind."""
    schemas = [_schema(kind) for kind in FORMS]
    for kind, schema in zip(FORMS, schemas, strict=True):
        schema["properties"] = {"question": {"const": kind}, **schema["properties"]}
        schema["required"] = ["question", *schema["required"]]
    return _body({"oneOf": schemas})


def _schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of a question, without references into itself, which OpenAPI would look for elsewhere."""
    schema = FORMS[kind].model_json_schema()
    parts = schema.pop("$defs", {})

    def resolved(value: Any) -> Any:
        if isinstance(value, dict):
            found: dict[str, Any] = value
            if "$ref" in found:
                return resolved(parts[found["$ref"].rpartition("/")[2]])
            return {key: resolved(part) for key, part in found.items()}
        items: Any = value
        return [resolved(part) for part in items] if isinstance(value, list) else value

    return resolved(schema)


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
