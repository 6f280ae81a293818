"""Paths of the curator's service: each reads a request, calls the `Curator` or its `Jobs`, and returns what they do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from hedgerow._version import __version__
from hedgerow.errors import AccessError, UnreadableError
from hedgerow.service.curator import Answer, Caller, Curator
from hedgerow.service.forms import FORMS, LARGEST_QUESTION, Kind
from hedgerow.service.jobs import Job, Jobs
from hedgerow.service.openapi import described, described_cost
from hedgerow.service.problems import ProblemError, problem_of
from hedgerow.service.turns import Turns
from hedgerow.untrusted_text import parse_json

RECEIPT = "Hedgerow-Receipt"
router = APIRouter()
_bearer = HTTPBearer(auto_error=False, description="An API key of this service, or a token of its identity provider.")


def _caller(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
    try:
        if given is not None:
            return request.app.state.authenticate(given.credentials)
    except AccessError:
        pass
    raise ProblemError(401, "unknown-key", "Expected a key", "Send the header Authorization: Bearer KEY.")


async def _curator(request: Request) -> Curator:
    return request.app.state.curator


async def _jobs(request: Request) -> Jobs:
    return request.app.state.jobs


async def _turns(request: Request) -> Turns:
    return request.app.state.turns


async def _body(request: Request) -> bytes:
    """Return the body; it is read no further than a question can be long."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(415, "not-json", "Expected JSON", "Send the header Content-Type: application/json.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_QUESTION:
            raise ProblemError(413, "too-large", "The question is too large", f"Send up to {LARGEST_QUESTION:,} bytes.")
    return bytes(body)


async def _key(
    key: Annotated[
        str | None, Header(alias="Idempotency-Key", description="1 to 200 characters, new a question.")
    ] = None,
) -> str:
    if key is None:
        raise ProblemError(
            400,
            "key-missing",
            "Expected an idempotency key",
            "Send the header Idempotency-Key, new for each question: sent again with it, a question is charged once.",
        )
    return key


Known = Annotated[Caller, Depends(_caller)]
Asked = Annotated[Curator, Depends(_curator)]
Waiting = Annotated[Turns, Depends(_turns)]
Queue = Annotated[Jobs, Depends(_jobs)]
Body = Annotated[bytes, Depends(_body)]
Idempotency = Annotated[str, Depends(_key)]


@router.get("/healthz", summary="Whether the service runs.")
def healthz() -> dict[str, str]:
    """Tell that it does, and which software it is."""
    return {"status": "ok", "software": f"hedgerow {__version__}"}


@router.get("/v1/datasets", summary="The datasets that you may ask about.")
def datasets(curator: Asked, caller: Known) -> list[str]:
    """Return their names."""
    return curator.datasets(caller)


@router.get("/v1/datasets/{dataset}", summary="What is public of a dataset: schema, columns, questions, timing.")
def describe(dataset: str, curator: Asked, caller: Known) -> dict[str, Any]:
    """Return what is public."""
    return curator.describe(caller, dataset)


@router.get("/v1/datasets/{dataset}/budget", summary="Your cap, what was charged to it, and what is left.")
def budget(dataset: str, curator: Asked, caller: Known) -> dict[str, Any]:
    """Return exact amounts, as text."""
    return curator.budget(caller, dataset)


@router.get("/v1/datasets/{dataset}/dummy", summary="Made-up rows by column, drawn from the schema alone.")
def dummy(
    dataset: str,
    curator: Asked,
    caller: Known,
    rows: Annotated[int, Query(ge=1, le=10_000)] = 100,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> dict[str, list[Any]]:
    """Return columns."""
    return curator.dummy(caller, dataset, rows, seed)


@router.post("/v1/datasets/{dataset}/cost", summary="What a question would cost; free.", openapi_extra=described_cost())
async def cost(dataset: str, curator: Asked, caller: Known, body: Body) -> dict[str, Any]:
    """Return the charge, and whether it is left."""
    kind, question = _split_kind(body)
    return await run_in_threadpool(curator.cost, caller, dataset, kind, question)


@router.post(
    "/v1/datasets/{dataset}/marginals", summary=FORMS["marginals"].__doc__, openapi_extra=described("marginals")
)
async def marginals(
    dataset: str, curator: Asked, turns: Waiting, caller: Known, key: Idempotency, body: Body
) -> Response:
    """Return noisy counts."""
    return _answered(await turns.run(caller, partial(curator.ask, caller, dataset, "marginals", key, body)))


@router.post(
    "/v1/datasets/{dataset}/error-marginals",
    summary=FORMS["error-marginals"].__doc__,
    openapi_extra=described("error-marginals"),
)
async def error_marginals(
    dataset: str, curator: Asked, turns: Waiting, caller: Known, key: Idempotency, body: Body
) -> Response:
    """Return noisy counts."""
    return _answered(await turns.run(caller, partial(curator.ask, caller, dataset, "error-marginals", key, body)))


@router.post(
    "/v1/datasets/{dataset}/fits", status_code=202, summary=FORMS["fits"].__doc__, openapi_extra=described("fits")
)
async def fits(dataset: str, jobs: Queue, caller: Known, key: Idempotency, body: Body) -> Response:
    """Return the job that the fit is; nothing is charged before it is running."""
    job = await run_in_threadpool(jobs.submit, caller, dataset, "fits", key, body)
    return JSONResponse(_job_data(job), 202, {"Location": f"/v1/jobs/{job.name}"})


@router.get("/v1/jobs/{job}", summary="What became of a fit.")
def job_state(job: str, jobs: Queue, caller: Known) -> dict[str, Any]:
    """Return its state."""
    return _job_data(jobs.get(caller, job))


@router.get("/v1/jobs/{job}/answer", summary="The model of a fit that was answered.")
def job_answer(job: str, jobs: Queue, caller: Known) -> Response:
    """Return the answer, or the problem."""
    found = jobs.get(caller, job)
    if found.answer is not None:
        return _answered(found.answer)
    if found.error is not None:
        raise problem_of(found.error)
    raise ProblemError(409, "not-answered", "The job has no answer", f"It is {found.state}.", None)


@router.get("/v1/jobs/{job}/events", summary="What becomes of a fit, as server-sent events.")
def job_events(job: str, jobs: Queue, caller: Known) -> StreamingResponse:
    """Return each state once."""
    return StreamingResponse(_events(jobs.get(caller, job)), media_type="text/event-stream")


@router.delete("/v1/jobs/{job}", summary="Cancel a fit that still waits; one that runs is charged, and goes on.")
def job_cancel(job: str, jobs: Queue, caller: Known) -> dict[str, Any]:
    """Return its state."""
    return _job_data(jobs.cancel(caller, job))


@router.get("/v1/ledger", summary="Entries of the ledger, one a line: your own requests; for auditors, all.")
def ledger(curator: Asked, caller: Known) -> StreamingResponse:
    """Return the entries as they are hashed."""
    return StreamingResponse((f"{one.content}\n" for one in curator.entries(caller)), media_type="application/jsonl")


async def _events(job: Job) -> AsyncIterator[str]:
    told = None
    while True:
        ended = job.ended.is_set()
        if job.state != told:
            told = job.state
            yield f"event: state\ndata: {json.dumps(_job_data(job))}\n\n"
        if ended:
            return
        await asyncio.sleep(0.1)


def _job_data(job: Job) -> dict[str, Any]:
    problem = None if job.error is None else problem_of(job.error).to_dict()
    return {"job": job.name, "state": job.state, **({"problem": problem} if problem else {})}


def _answered(answer: Answer) -> Response:
    headers = {RECEIPT: answer.receipt} if answer.receipt else {}
    return Response(answer.body, media_type="application/json", headers={**headers, "Cache-Control": "no-store"})


def _split_kind(body: bytes) -> tuple[Kind, bytes]:
    """Return the kind of a question whose cost is asked, and the question."""
    try:
        data = parse_json(body.decode())
        kind = data.pop("question")
        if kind in FORMS:
            return kind, json.dumps(data).encode()
    except (UnreadableError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        pass
    kinds = ", ".join(FORMS)
    raise ProblemError(422, "question-refused", "The question cannot be asked", f"Expected `question` to be {kinds}.")
