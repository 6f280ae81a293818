"""What the OpenAPI file says of bodies, answers and problems."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from hedgerow.service.forms import FORMS, Kind

_PLACE = "#/components/schemas/"
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
    503: "Too many questions are waiting, or the ledger cannot be written.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/problem+json": {"schema": {"$ref": f"{_PLACE}Problem"}}}}
    for status, text in _TEXTS.items()
}


class Described(FastAPI):
    """An app whose OpenAPI file has the schemas of questions and problems under names, as generated clients need."""

    def openapi(self) -> dict[str, Any]:
        """Return the file as data, made once: anyone may ask for it."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        found = super().openapi()
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas |= {"Problem": _PROBLEM}
        for kind, form in FORMS.items():
            schema = form.model_json_schema(ref_template=f"{_PLACE}{{model}}")
            schemas |= schema.pop("$defs", {})
            schemas |= {form.__name__: schema, _cost_name(kind): _cost(kind, schema)}
        return found


def named(route: APIRoute) -> str:
    """Return the name of an operation: that of its function."""
    return route.name


def described(kind: Kind) -> dict[str, Any]:
    """Return what the file says of the body of a question."""
    return _body({"$ref": f"{_PLACE}{FORMS[kind].__name__}"})


def described_cost() -> dict[str, Any]:
    """Return what it says of the body of a cost call: any question, with its kind."""
    return _body({"oneOf": [{"$ref": f"{_PLACE}{_cost_name(kind)}"} for kind in FORMS]})


def _cost_name(kind: Kind) -> str:
    return f"{FORMS[kind].__name__}Cost"


def _cost(kind: Kind, schema: dict[str, Any]) -> dict[str, Any]:
    properties = {"question": {"const": kind}, **schema["properties"]}
    return {
        **schema,
        "title": _cost_name(kind),
        "properties": properties,
        "required": ["question", *schema["required"]],
    }


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
