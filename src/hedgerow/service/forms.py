"""The forms of questions as JSON: what may be asked, checked for shape and size before anything else looks at it."""

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

LARGEST_QUESTION = 2**23  # the most bytes of a question
MOST_ENTRIES = 100_000
"""The most entries of a question's lists and mappings: what takes long to check is many of them, not long text."""
MOST_ATTRIBUTES = 10_000


def _amount(value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Refuse what is no amount by what to write, and not by a pattern."""
    with suppress(pydantic.ValidationError):
        return check(value)
    raise PydanticCustomError("amount", 'Expected an amount of at least 0 as text, such as "0.25" or "1/4"')


AmountText = Annotated[
    str,
    pydantic.StringConstraints(pattern=r"^[0-9]{1,30}(\.[0-9]{1,30})?(e-[0-9]{1,2})?$|^[0-9]{1,30}/[0-9]{1,30}$"),
    Field(description="An exact amount as text: a decimal or a fraction.", examples=["1/4", "0.25"]),
    pydantic.WrapValidator(_amount),
]
BinsOfColumns = Annotated[
    dict[str, Any],
    Field(
        description="The bins of each column asked about, as `attributes` of a schema file; every value needs a bin.",
        min_length=1,
        max_length=MOST_ATTRIBUTES,
    ),
]


def _one_of(value: Any, check: pydantic.ValidatorFunctionWrapHandler) -> Any:
    """Refuse what is of no type of a union in one sentence, and not in one for each type."""
    with suppress(pydantic.ValidationError):
        return check(value)
    raise PydanticCustomError("parameter", "Expected a truth value, a number, text, or such by name or by class")


Parameter = Annotated[
    bool | int | float | str | dict[str, str | int | float | dict[str, int | float]] | None,
    pydantic.WrapValidator(_one_of),
]


class StrictModel(BaseModel):
    """Data whose entries are all known, and of exactly the types named."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


class Priced(StrictModel):
    """Entries of every question."""

    epsilon: AmountText
    delta: AmountText = "0"
    epoch: int | None = Field(None, description="The epoch asked about; another one is not charged. Default: any.")


class Marginals(Priced):
    """Number of rows in each bin, or of each class in each bin; of a number, the sums of levels in each bin."""

    bins: BinsOfColumns
    by: Literal["rows", "classes", "levels"] = "rows"


class AlwaysForm(StrictModel):
    """The hypothesis that predicts one class for every row."""

    always: str | int | bool


class ModelForm(StrictModel):
    """A rule list, tree or scorecard, as its file holds it."""

    model: dict[str, Any]


class OnnxForm(StrictModel):
    """A classifier as ONNX in base64, of the operators that `docs/marginals.md` lists."""

    onnx: str


class ErrorMarginals(Priced):
    """Number of rows, or steps of a number, of each bin that a hypothesis gets wrong, and of those it gets right."""

    bins: BinsOfColumns
    hypothesis: AlwaysForm | ModelForm | OnnxForm


class Fit(Priced):
    """A model that a private estimator learns at the curator's."""

    model: Literal["rule-list", "tree", "scorecard"]
    attributes: list[str] | None = Field(None, min_length=1, description="Attributes of the schema. Default: all.")
    parameters: dict[str, Parameter] = Field(
        {}, description="Parameters of the estimator, such as `max_depth`; classes are named by text."
    )


QuestionForm = Marginals | ErrorMarginals | Fit
QuestionKind = Literal["marginals", "error-marginals", "fits"]
FORMS: dict[QuestionKind, type[QuestionForm]] = {"marginals": Marginals, "error-marginals": ErrorMarginals, "fits": Fit}


def check_kind(kind: str) -> QuestionKind:
    if kind not in FORMS:
        raise UnreadableError(f"expected one of the questions {', '.join(FORMS)}, got {shown(kind)}.")
    return kind


def read_form(kind: QuestionKind, body: bytes) -> QuestionForm:
    """Return the question that a body holds; raises UnreadableError, which names the entry at fault."""
    problem = None
    try:
        return FORMS[kind].model_validate(_data(body))
    except pydantic.ValidationError as error:  # it holds the whole body
        problem = _first(error)
    raise UnreadableError(problem)


def split_kind(body: bytes) -> tuple[QuestionKind, bytes]:
    """Return the kind of a question whose cost is asked, its entry `question`, and the question without it."""
    problem = f"expected `question` to be one of {', '.join(FORMS)}."
    try:
        data = _data(body)
        if isinstance(data, dict) and data.get("question") in FORMS:
            return data.pop("question"), json.dumps(data).encode()
    except UnreadableError as error:
        problem = str(error)
    except TypeError:  # of a kind that is a list
        pass
    raise QuestionError(problem)


def _data(body: bytes) -> Any:
    if len(body) > LARGEST_QUESTION or sum(map(body.count, (b",", b"[", b"{"))) > MOST_ENTRIES:
        problem = f"expected a question of at most {LARGEST_QUESTION:,} bytes and {MOST_ENTRIES:,} entries"
        raise UnreadableError(f"{problem}, got a larger one.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise UnreadableError("expected text in UTF-8, found bytes that are not text.")
    return parse_json(text)


def readable(kind: QuestionKind, form: QuestionForm) -> str:
    """Return a question for a person to read, as JSON; a hypothesis that is no class is shown by its digest."""
    data = {"question": kind, **form.model_dump()}
    if isinstance(form, ErrorMarginals):
        asked = form.hypothesis
        if isinstance(asked, ModelForm):
            data["hypothesis"] = {name: asked.model.get(name) for name in ("format", "digest")}
        elif isinstance(asked, OnnxForm):
            data["hypothesis"] = {"format": "onnx", "sha256": digest(b64decode(asked.onnx))}
    return json.dumps(data, indent=2)


def _first(error: pydantic.ValidationError) -> str:
    found = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(map(str, found["loc"])) or "the question"
    return f"{shown(place)}: {found['msg']}."


_PLACE = "#/components/schemas/"


class OpenApiApp(FastAPI):
    """An app whose OpenAPI file has the schemas of questions and problems under names, as generated clients need."""

    def openapi(self) -> dict[str, Any]:
        """Return the file as data, made once: anyone may ask for it."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        found = super().openapi()
        modelled: list[tuple[type[BaseModel], Any]] = [(Problem, "validation")]
        for kind, form in FORMS.items():
            question: Any = (Literal[kind], ...)
            cost = pydantic.create_model(_cost_name(kind), __base__=form, __doc__=form.__doc__, question=question)
            modelled += [(form, "validation"), (cost, "validation")]
        _, made = models_json_schema(modelled, ref_template=f"{_PLACE}{{model}}")
        for operation in (operation for path in found["paths"].values() for operation in path.values()):
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "Idempotency-Key":  # without it, the problem says what to send
                    parameter |= {"required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 200}}
        found.setdefault("components", {}).setdefault("schemas", {}).update(made["$defs"])
        return found


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
