"""HTTP API of the service as an ASGI app, which calls the `Curator` and its `Jobs`."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Response
from fastapi import Request as HttpRequest
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow import errors
from hedgerow._version import __version__
from hedgerow.service import forms
from hedgerow.service.availability import failing
from hedgerow.service.curator import MOST_ENTRIES, Answer, Curator
from hedgerow.service.jobs import MOST_AT_ONCE, MOST_FREE_AT_ONCE, MOST_OF_ONE, ConcurrencyLimits, Job, Jobs, Turn
from hedgerow.service.monitoring import Observed, log_request, note, template
from hedgerow.service.problems import AGAIN, PROBLEMS, RETRY_AFTER, ProblemError, problem_of, response_of
from hedgerow.service.requests import Caller, Request

Authenticate = Callable[[str], Caller]
_LOG = logging.getLogger(__name__)
RECEIPT = "Hedgerow-Receipt"
_LINES = "application/jsonl"
router = APIRouter()
_bearer = HTTPBearer(auto_error=False, description="An API key of this service, or a token of its identity provider.")


def _caller(request: HttpRequest, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Caller:
    try:
        if given is not None:
            request.state.caller = request.app.state.authenticate(given.credentials)
            return request.state.caller
    except errors.AccessError as error:
        request.state.reason = str(error)  # for the log, not for the caller
    detail = "Send the header Authorization: Bearer KEY with a valid API key, which is not expired or revoked."
    raise ProblemError(401, "unknown-key", "The API key is missing or not valid", detail, None)


def _state(name: str) -> Any:
    async def of_app(request: HttpRequest) -> Any:
        return getattr(request.app.state, name)

    return Depends(of_app)


def _turn_of(kind: str) -> Any:
    """Return a dependency that holds a turn of the caller, from before the body is read to the end."""

    async def turn(request: HttpRequest, caller: Annotated[Caller, Depends(_caller)]) -> AsyncGenerator[Turn]:
        turns: ConcurrencyLimits = getattr(request.app.state, kind)
        async with turns.of(caller) as taken:
            yield taken

    return Depends(turn)


async def _body(request: HttpRequest) -> bytes:
    """Return the body; raise `ProblemError` if it is longer than a question may be."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(415, "not-json", "The body is not JSON", "Send the header Content-Type: application/json.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > forms.LARGEST_QUESTION:
            advice = f"Send at most {forms.LARGEST_QUESTION:,} bytes."
            raise ProblemError(413, "too-large", "The question is too large", advice)
    return bytes(body)


async def _key(
    key: Annotated[
        str | None, Header(alias="Idempotency-Key", description="1 to 200 characters; a new key for each question.")
    ] = None,
) -> str:
    if key is None:
        raise ProblemError(
            400,
            "key-missing",
            "The idempotency key is missing",
            "Send the header Idempotency-Key with a new key for each question. A question that is sent again with the "
            "same key is charged only once.",
        )
    return key


CallerDep = Annotated[Caller, Depends(_caller)]
CuratorDep = Annotated[Curator, _state("curator")]
ChargedLimiterDep = Annotated[Turn, _turn_of("charged")]
FreeLimiterDep = Annotated[Turn, _turn_of("free")]
WatchingLimiterDep = Annotated[Turn, _turn_of("watching")]
JobsDep = Annotated[Jobs, _state("jobs")]
BodyDep = Annotated[bytes, Depends(_body)]
KeyDep = Annotated[str, Depends(_key)]


@router.get("/healthz", summary="Whether the service is running and can use its ledger and tables.")
async def healthz(curator: CuratorDep) -> Response:
    """Return 200, or 503 if the ledger cannot be written or a table cannot be read; the log states the cause."""
    content = {"status": "ok", "software": f"hedgerow {__version__}", "policy": curator.policy}
    probes = await failing(curator.probes)
    if not probes:
        return JSONResponse(content)
    kind = "ledger-unavailable" if curator.ledger_probe in probes else "unavailable"
    return JSONResponse(content | {"status": "unavailable", "kind": kind}, 503, {"Retry-After": str(RETRY_AFTER)})


@router.get("/v1/datasets", response_model=list[str], summary="Names of the datasets that you may ask about.")
async def datasets(curator: CuratorDep, caller: CallerDep, turn: FreeLimiterDep) -> Response:
    return await turn.run_free(lambda: JSONResponse(curator.datasets(caller)))


@router.get(
    "/v1/datasets/{dataset}",
    response_model=dict[str, Any],
    summary="Public description of a dataset: schema, columns, questions, timing.",
)
async def describe(dataset: str, curator: CuratorDep, caller: CallerDep, turn: FreeLimiterDep) -> Response:
    return await turn.run_free(lambda: JSONResponse(curator.describe(caller, dataset)))


@router.get(
    "/v1/datasets/{dataset}/budget",
    response_model=dict[str, Any],
    summary="Your cap, its charges, and the remaining budget.",
)
async def budget(dataset: str, curator: CuratorDep, caller: CallerDep, turn: FreeLimiterDep) -> Response:
    """Return the exact amounts of the budget as text."""
    return await turn.run_free(lambda: JSONResponse(curator.budget(caller, dataset)))


@router.get(
    "/v1/datasets/{dataset}/dummy",
    response_model=dict[str, list[Any]],
    summary="Random rows by column, generated from the schema.",
)
async def dummy(
    dataset: str,
    curator: CuratorDep,
    caller: CallerDep,
    turn: FreeLimiterDep,
    rows: Annotated[int, Query(ge=1, le=10_000)] = 100,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> Response:
    return await turn.run_free(lambda: JSONResponse(curator.dummy(caller, dataset, rows, seed)))


@router.post(
    "/v1/datasets/{dataset}/cost",
    response_model=dict[str, Any],
    summary="Cost of a question, without a charge.",
    openapi_extra=forms.described_cost(),
)
async def cost(dataset: str, curator: CuratorDep, caller: CallerDep, turn: FreeLimiterDep, body: BodyDep) -> Response:
    """Return the charge, and whether enough budget is left."""
    return await turn.run_free(lambda: JSONResponse(curator.cost(caller, dataset, *forms.split_kind(body))))


def _endpoint(kind: forms.QuestionKind) -> Any:
    async def ask(
        dataset: str, curator: CuratorDep, caller: CallerDep, turn: ChargedLimiterDep, key: KeyDep, body: BodyDep
    ) -> Response:
        return _answered(await turn.run(partial(curator.ask, Request(caller, dataset, kind, key, body))))

    return ask


for _kind in forms.FORMS:
    if _kind == "fits":  # its answer is a job, see below
        continue
    _options: Any = {"openapi_extra": forms.described(_kind), "methods": ["POST"], "name": _kind.replace("-", "_")}
    _path, _summary = f"/v1/datasets/{{dataset}}/{_kind}", forms.FORMS[_kind].__doc__
    router.add_api_route(_path, _endpoint(_kind), summary=_summary, **_options)


@router.post(
    "/v1/datasets/{dataset}/fits",
    status_code=202,
    summary=forms.FORMS["fits"].__doc__,
    openapi_extra=forms.described("fits"),
)
async def fits(
    dataset: str, jobs: JobsDep, caller: CallerDep, turn: FreeLimiterDep, key: KeyDep, body: BodyDep
) -> Response:
    """Return the job of the fit; it is charged when it starts running."""
    job = await turn.run_free(partial(jobs.submit, Request(caller, dataset, "fits", key, body)))
    return JSONResponse(_job_data(job), 202, {"Location": f"/v1/jobs/{job.name}"})


async def _job(request: HttpRequest, job: str, jobs: JobsDep, caller: CallerDep) -> Job:
    turns: ConcurrencyLimits = request.app.state.free
    async with turns.of(caller) as turn:  # the turn ends before a stream of events begins
        job_state = await turn.run_free(lambda: jobs.get(caller, job))
    if job_state is None:
        raise ProblemError(404, "unknown-job", "You have no job with this name", AGAIN, None)
    return job_state


JobDep = Annotated[Job, Depends(_job)]


@router.get("/v1/jobs/{job}", summary="State of a fit, also after a restart.")
async def job_state(job: JobDep) -> dict[str, Any]:
    return _job_data(job)


@router.get("/v1/jobs/{job}/answer", summary="Model of a finished fit.")
async def job_answer(request: HttpRequest, job: JobDep, jobs: JobsDep, turn: FreeLimiterDep) -> Response:
    """Return the answer or the problem."""
    answer = await turn.run_free(lambda: jobs.answer(job))
    if answer is not None:
        return _answered(answer)
    if job.error is not None:
        return _noted_problem(request, job.error)
    charged, detail = True if job.state == "pending" else None, f"The job is {job.state}. {AGAIN}"
    raise ProblemError(409, "not-answered", "The job has no answer", detail, charged, retry_after=RETRY_AFTER)


@router.get(
    "/v1/jobs/{job}/events",
    summary="States of a fit, as server-sent events.",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def job_events(
    job: JobDep,
    turn: WatchingLimiterDep,  # noqa: ARG001 (as many streams as an analyst has turns)
) -> StreamingResponse:
    """Return each state once."""
    return StreamingResponse(_events(job), media_type="text/event-stream")


@router.delete("/v1/jobs/{job}", summary="Cancel a waiting fit; a running fit is charged and continues.")
async def job_cancel(job: JobDep, jobs: JobsDep) -> dict[str, Any]:
    jobs.cancel(job)
    return _job_data(job)


@router.get(
    "/v1/ledger",
    summary="Page of ledger entries, one per line: your own entries or, for auditors, all.",
    response_class=Response,
    responses={
        200: {
            "content": {_LINES: {"schema": {"type": "string"}}},
            "headers": {
                "Link": {
                    "description": "The next page, with rel=next (RFC 8288), if there are more entries.",
                    "schema": {"type": "string"},
                }
            },
        }
    },
)
async def ledger(
    curator: CuratorDep,
    caller: CallerDep,
    turn: FreeLimiterDep,
    after: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="Hash of the last entry of the previous page.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES, description="Maximum number of entries.")] = MOST_ENTRIES,
) -> Response:
    """Return entries with their hashes, in order."""
    lines, following = await turn.run_free(lambda: curator.entries(caller, after, limit))
    headers = {"Link": f'</v1/ledger?after={following}&limit={limit}>; rel="next"'} if following else {}
    return Response("".join(f"{line}\n" for line in lines), media_type=_LINES, headers=headers)


async def _events(job: Job) -> AsyncIterator[str]:
    sent = None
    while True:
        ended = job.ended.is_set()
        if job.state != sent:
            sent = job.state
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


def create_app(curator: Curator, authenticate: Authenticate, jobs: Jobs) -> FastAPI:
    app = forms.OpenApiApp(
        title="hedgerow",
        version=__version__,
        summary="Questions about private tables, answered under differential privacy.",
        description="Every charge is recorded durably in a ledger before a row is read. See docs/service.md.",
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # redirects would go to the host that a request names
        generate_unique_id_function=forms.named,
        responses=PROBLEMS,
    )
    app.state.curator, app.state.authenticate, app.state.jobs = curator, authenticate, jobs
    app.state.charged, app.state.free = ConcurrencyLimits(MOST_AT_ONCE), ConcurrencyLimits(MOST_FREE_AT_ONCE)
    app.state.watching = ConcurrencyLimits(MOST_OF_ONE)
    app.include_router(router)
    app.add_exception_handler(HTTPException, _http_problem_handler)
    app.add_exception_handler(RequestValidationError, _invalid_problem_handler)
    app.add_exception_handler(ClientDisconnect, _disconnected_handler)
    for kind in (ProblemError, errors.HedgerowError):
        app.add_exception_handler(kind, _problem_handler)
    app.add_middleware(_ErrorMiddleware)
    app.add_middleware(Observed, ended=partial(log_request, datasets=frozenset(curator.epochs)))
    return app


def _noted_problem(request: HttpRequest, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    note(request, problem.kind)
    if problem.status == 500:
        _LOG.error("%s: %s", template(request.scope), type(error).__name__)
    return response_of(error)


async def _problem_handler(request: HttpRequest, error: Exception) -> JSONResponse:
    return _noted_problem(request, error)


async def _http_problem_handler(request: HttpRequest, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    response = _noted_problem(request, ProblemError(error.status_code, "http", str(error.detail), "See /openapi.json."))
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return response


def _methods(request: HttpRequest) -> set[str]:
    """Return the methods that the path of a request supports."""
    routes = [route for route in router.routes if route.matches(request.scope)[0] is not Match.NONE]
    return {method for route in routes for method in getattr(route, "methods", None) or ()}


async def _invalid_problem_handler(request: HttpRequest, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    places = ", ".join(sorted({".".join(map(str, fault["loc"])) for fault in error.errors()}))
    return _noted_problem(request, ProblemError(422, "malformed", "The request is malformed", f"Check {places}."))


async def _disconnected_handler(request: HttpRequest, _: Exception) -> JSONResponse:
    """Note for the log and the metrics that a client was gone before its question was read; nobody gets the answer."""
    return _noted_problem(request, ProblemError(499, "client-disconnected", "The client closed the connection", AGAIN))


class _ErrorMiddleware:
    """ASGI middleware that turns other exceptions into problems and logs only their types."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            _LOG.error("%s: %s", template(scope), type(error).__name__)
            if not began and scope["type"] == "http":
                await response_of(error)(scope, receive, send)
