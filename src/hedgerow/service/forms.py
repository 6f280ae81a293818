"""Forms of questions as JSON, which bound the structure and size of a body before it is used."""

import json
from base64 import b64decode
from contextlib import suppress
from typing import Annotated, Any, Literal

import pydantic
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

from hedgerow.boundary.canonical import digest
from hedgerow.boundary.untrusted_text import parse_json
from hedgerow.errors import QuestionError, UnreadableError
from hedgerow.service.problems import Problem
from hedgerow.text.messages import shown

LARGEST_QUESTION = 2**23  # bytes
MOST_ENTRIES = 100_000
"""Maximum number of entries of a question's lists and mappings, which determines the time of its checks."""
MOST_ATTRIBUTES = 10_000


def _amount(value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Replace the error of a pattern by advice."""
    with suppress(pydantic.ValidationError):
        return check(value)
    raise PydanticCustomError("amount", 'expected an amount of at least 0 as text, such as "0.25" or "1/4"')


AmountText = Annotated[
    str,
    pydantic.StringConstraints(pattern=r"^[0-9]{1,30}(\.[0-9]{1,30})?(e-[0-9]{1,2})?$|^[0-9]{1,30}/[0-9]{1,30}$"),
    Field(description="An exact amount as text: a decimal or a fraction.", examples=["1/4", "0.25"]),
    pydantic.WrapValidator(_amount),
]
BinsOfColumns = Annotated[
    dict[str, Any],
    Field(
        description="The columns to count with their bins, as `attributes` of a schema file; every value needs a bin.",
        min_length=1,
        max_length=MOST_ATTRIBUTES,
    ),
]


def _one_of(value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Replace the errors of all types of a union by a single error."""
    with suppress(pydantic.ValidationError):
        return check(value)
    raise PydanticCustomError("parameter", "expected a boolean, a number, text, or a mapping of these by name or class")


Parameter = Annotated[
    bool | int | float | str | dict[str, str | int | float | dict[str, int | float]] | None,
    pydantic.WrapValidator(_one_of),
]


class StrictModel(BaseModel):
    """Data with known entries of exactly the declared types."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


class Priced(StrictModel):
    """Entries of every question."""

    epsilon: AmountText
    delta: AmountText = "0"
    epoch: int | None = Field(
        None, description="Epoch of the question; questions about another epoch are not charged. Default: any."
    )


class Marginals(Priced):
    """Noisy counts of rows in each bin, in total or by class; for a number, noisy sums of levels."""

    bins: BinsOfColumns
    by: Literal["rows", "classes", "levels"] = "rows"


class AlwaysForm(StrictModel):
    """Constant prediction of a class."""

    always: str | int | bool


class ModelForm(StrictModel):
    """Rule list, tree or scorecard, as in its model file."""

    model: dict[str, Any]


class OnnxForm(StrictModel):
    """Classifier in ONNX as base64, with the operators that `docs/marginals.md` lists."""

    onnx: str


class ErrorMarginals(Priced):
    """Noisy counts of rows, or steps of a number, in each bin that a hypothesis predicts correctly and wrongly."""

    bins: BinsOfColumns
    hypothesis: AlwaysForm | ModelForm | OnnxForm


class Fit(Priced):
    """Fit of a private estimator to the rows of the service."""

    model: Literal["rule-list", "tree", "scorecard"]
    attributes: list[str] | None = Field(None, min_length=1, description="Attributes of the schema. Default: all.")
    parameters: dict[str, Parameter] = Field(
        {}, description="Parameters of the estimator, such as `max_depth`; classes are written as text."
    )


# A new kind of question is an entry of these three lines, and a case of `read_question`.
QuestionForm = Marginals | ErrorMarginals | Fit
QuestionKind = Literal["marginals", "error-marginals", "fits"]
FORMS: dict[QuestionKind, type[QuestionForm]] = {"marginals": Marginals, "error-marginals": ErrorMarginals, "fits": Fit}


def check_kind(kind: str) -> QuestionKind:
    if kind not in FORMS:
        raise UnreadableError(f"{shown(kind)} is not a kind of question; the kinds are {', '.join(FORMS)}.")
    return kind


def read_form(kind: QuestionKind, body: bytes) -> QuestionForm:
    """Return the question in a body; raise `UnreadableError`, which names the wrong entry."""
    problem = None
    try:
        return FORMS[kind].model_validate(_data(body))
    except pydantic.ValidationError as error:  # contains the whole body, so it is not chained
        problem = _first(error)
    raise UnreadableError(problem)


def split_kind(body: bytes) -> tuple[QuestionKind, bytes]:
    """Split the body of a cost request into the kind (entry `question`) and the question."""
    problem = f"the entry `question` must be {' or '.join(FORMS)}."
    try:
        data = _data(body)
        if isinstance(data, dict) and data.get("question") in FORMS:
            return data.pop("question"), json.dumps(data).encode()
    except UnreadableError as error:
        problem = str(error)
    except TypeError:  # the kind is a list
        pass
    raise QuestionError(problem)


def _data(body: bytes) -> Any:
    if len(body) > LARGEST_QUESTION or sum(map(body.count, (b",", b"[", b"{"))) > MOST_ENTRIES:
        raise UnreadableError(
            f"a question may have at most {LARGEST_QUESTION:,} bytes and {MOST_ENTRIES:,} entries; this one is larger."
        )
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise UnreadableError("the body is not UTF-8 text.")
    return parse_json(text)


def readable(kind: QuestionKind, form: QuestionForm) -> str:
    """Return a question as JSON for reading; a hypothesis other than a class is replaced by its digest."""
    data = {"question": kind, **form.model_dump()}
    if isinstance(form, ErrorMarginals):
        hypothesis = form.hypothesis
        if isinstance(hypothesis, ModelForm):
            data["hypothesis"] = {name: hypothesis.model.get(name) for name in ("format", "digest")}
        elif isinstance(hypothesis, OnnxForm):
            data["hypothesis"] = {"format": "onnx", "sha256": digest(b64decode(hypothesis.onnx))}
    return json.dumps(data, indent=2)


def _first(error: pydantic.ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "the question"
    return f"{shown(place)}: {first['msg']}."


_PLACE = "#/components/schemas/"


class OpenApiApp(FastAPI):
    """App whose OpenAPI file names the schemas of questions and problems, for generated clients."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI file as data; it is created once, since anybody can request it."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        document = super().openapi()
        modelled: list[tuple[type[BaseModel], Any]] = [(Problem, "validation")]
        for kind, form in FORMS.items():
            question: Any = (Literal[kind], ...)
            cost = pydantic.create_model(_cost_name(kind), __base__=form, __doc__=form.__doc__, question=question)
            modelled += [(form, "validation"), (cost, "validation")]
        _, made = models_json_schema(modelled, ref_template=f"{_PLACE}{{model}}")
        for operation in (operation for path in document["paths"].values() for operation in path.values()):
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "Idempotency-Key":  # optional in the code, for a better problem response
                    parameter |= {"required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 200}}
        document.setdefault("components", {}).setdefault("schemas", {}).update(made["$defs"])
        return document


def named(route: APIRoute) -> str:
    return route.name


def described(kind: QuestionKind) -> dict[str, Any]:
    return _body({"$ref": f"{_PLACE}{FORMS[kind].__name__}"})


def described_cost() -> dict[str, Any]:
    return _body({"oneOf": [{"$ref": f"{_PLACE}{_cost_name(kind)}"} for kind in FORMS]})


def _cost_name(kind: QuestionKind) -> str:
    return f"{FORMS[kind].__name__}Cost"


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
