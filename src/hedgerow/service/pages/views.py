"""Pages of the dashboard: spending, requests, the ledger, answers and keys."""

from __future__ import annotations

import io
import threading
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import DateFormatter
from matplotlib.figure import Figure
from starlette.responses import Response

from hedgerow.errors import ArgumentError, LedgerError
from hedgerow.privacy.account import Account
from hedgerow.service.approvals import Approvals, Decision
from hedgerow.service.curator import Answer
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.accounts import WHOLE
from hedgerow.service.ledger.history import Currency, History, Share
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.pages.session_auth import PICTURE, Visit
from hedgerow.service.requests import ROLES
from hedgerow.text.messages import shown

_LENGTH = 50  # rows of a table on a page
_PATIENCE = 1.0  # seconds that a page waits for the verification that it started


@dataclass(frozen=True)
class SpentCap:
    """A cap with the amounts spent and left; the spent amount is None if it is unknown."""

    name: str
    cap: Fraction
    spent: Fraction | None
    left: Fraction


def whole_number(text: str) -> int:
    """Parse a number of a page or form; return 0 if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


_DECISIONS: dict[str, Decision] = {"approve": "approved", "refuse": "refused", "withdraw": "withdrawn"}


class Views:
    """Views of a ledger and its keys."""

    def __init__(self, ledger: Ledger, keys: Keys, approvals: Approvals | None = None) -> None:
        self._ledger, self._keys, self._history = ledger, keys, History(ledger.log)
        self._approvals = approvals

    def overview(self, visit: Visit) -> Response:
        own = _own(visit)
        datasets: list[dict[str, Any]] = []
        for declared in self._history.datasets():
            shares = self._ledger.shares(declared.name)
            whole = shares.pop(WHOLE) if own is None else shares.pop(own, None)
            if whole is not None:
                requests = self._history.shares(declared.name)
                count = sum(share.count for name, share in requests.items() if own in (None, name))
                analysts = shares.items() if own is None else ()
                people = [_person(name, share, requests.get(name)) for name, share in analysts]
                facts = {"declared": declared, "guarantee": whole.guarantee, "parts": _parts(whole)}
                datasets.append({**facts, "people": people, "count": count})
        waiting = 0
        if self._approvals is not None and visit.session.caller.role == "curator":
            waiting = len(self._approvals.pending())
        return visit.render("overview.html", datasets=datasets, waiting=waiting)

    def requests(self, visit: Visit) -> Response:
        chosen = {"analyst": _own(visit) or _queried(visit, "analyst"), "dataset": _queried(visit, "dataset")}
        before = _queried(visit, "before")
        requests = self._history.asked(**chosen, before=before, limit=_LENGTH + 1)
        rows = requests[:_LENGTH]
        following = rows[-1].request if len(requests) > _LENGTH else ""
        pages = {"before": before, "following": following}
        return visit.render("requests.html", rows=rows, count=self._history.count(**chosen), pages=pages, chosen=chosen)

    def entries(self, visit: Visit) -> Response:
        count, before = self._ledger.log.last.sequence, whole_number(visit.request.query_params.get("before", ""))
        end = min(before or count + 1, count + 1)
        first = max(1, end - _LENGTH)
        with closing(cast("Any", self._ledger.entries(first))) as following:
            rows = list(islice(following, max(0, end - first)))[::-1]
        pages = {"before": before, "following": first if first > 1 else ""}
        return visit.render("ledger.html", rows=rows, count=count, pages=pages, job=self._ledger.verifying.state)

    def verify(self, visit: Visit) -> Response:
        self._ledger.verifying.start()
        self._ledger.verifying.wait(_PATIENCE)
        state = self._ledger.verifying.state
        if state.is_broken:  # entries of a broken ledger cannot be read
            return visit.render("ledger.html", rows=[], count=0, pages={"before": None, "following": ""}, job=state)
        return self.entries(visit)

    def chart(self, visit: Visit) -> Response:
        own, name = _own(visit), visit.request.query_params.get("dataset", "")
        declared = next((dataset for dataset in self._history.datasets() if dataset.name == name), None)
        account = self._ledger.shares(name).get(own or WHOLE) if declared else None
        if declared is None or account is None:
            return visit.missing()
        part = _parts(account)[-1]
        currency: Currency = "rho" if part.name == "rho" else "epsilon"
        cap = part.cap if currency == part.name else _parts(account)[0].cap
        points = tuple(self._history.spending(declared, own, currency))
        query = visit.request.query_params
        palette, size = DARK if "dark" in query else LIGHT, NARROW if "narrow" in query else WIDE
        picture = draw(points, float(cap), f"{currency} spent", palette, size)
        return Response(picture, media_type="image/svg+xml", headers=PICTURE)

    def answer(self, visit: Visit) -> Response:
        return self._stored(visit, "application/json", "json", lambda answer: answer.body)

    def receipt(self, visit: Visit) -> Response:
        return self._stored(visit, "text/plain", "receipt", lambda answer: answer.receipt.encode())

    def approvals(self, visit: Visit, status: int = 200, problem: str = "") -> Response:
        waiting, approved = [], []
        if self._approvals is not None:
            waiting, approved = self._approvals.pending(), self._approvals.approved()
        return visit.render("approvals.html", status, waiting=waiting, approved=approved, problem=problem)

    def decide(self, visit: Visit) -> Response:
        number, decision = visit.form.get("number", ""), visit.form.get("decision", "")
        try:
            if self._approvals is None or decision not in _DECISIONS:
                raise ArgumentError(
                    f"expected a decision ({', '.join(_DECISIONS)}) on a question, got {shown(decision)}."
                )
            self._approvals.decide({whole_number(number): _DECISIONS[decision]}, by=visit.session.caller.name)
        except ArgumentError as error:
            return self.approvals(visit, 422, str(error))
        return visit.go("/approvals")

    def _stored(self, visit: Visit, kind: str, suffix: str, part: Any) -> Response:
        request = visit.request.path_params["request"].replace("\0", "")
        try:
            content = self._ledger.stored(visit.session.caller.name, request)
        except LedgerError:
            return visit.missing()
        stored = part(Answer.read(content))
        headers = {"Content-Disposition": f'attachment; filename="{request}.{suffix}"'}
        return Response(stored, media_type=kind, headers=headers) if stored else visit.missing()

    def keys(self, visit: Visit, status: int = 200, **more: str) -> Response:
        values = {"made": "", "whose": "", "problem": "", **more}
        return visit.render("keys.html", status, callers=self._keys.callers(), roles=ROLES, **values)

    def add_key(self, visit: Visit) -> Response:
        name, role = visit.form.get("name", "").strip(), cast("Any", visit.form.get("role", ""))
        days = visit.form.get("days", "").strip()
        try:
            made = self._keys.add(name, role, whole_number(days) if days else None)
        except ArgumentError as error:
            return self.keys(visit, 422, problem=str(error))
        return self.keys(visit, made=made, whose=name)

    def revoke_key(self, visit: Visit) -> Response:
        try:
            self._keys.revoke(visit.form.get("name", ""))
        except ArgumentError as error:
            return self.keys(visit, 422, problem=str(error))
        return visit.go("/keys")


def _own(visit: Visit) -> str | None:
    """Return the analyst to whom a page is restricted, or None for auditors and curators."""
    caller = visit.session.caller
    return caller.name if caller.role == "analyst" else None


def _queried(visit: Visit, name: str) -> str | None:
    """Return a query parameter or None, without NUL, which PostgreSQL does not support."""
    return visit.request.query_params.get(name, "").replace("\0", "") or None


def _parts(account: Account) -> list[SpentCap]:
    """Return the caps of an account on ε, δ and ρ."""
    parts: list[SpentCap] = []
    if account.epsilon is not None:
        parts.append(SpentCap("epsilon", account.epsilon, account.spent, account.remaining))
    if account.delta and account.accounting == "basic":
        parts.append(SpentCap("delta", account.delta, account.spent_delta, account.remaining_delta))
    if account.largest_rho is not None and account.remaining_rho is not None:
        parts.append(SpentCap("rho", account.largest_rho, account.spent_rho, account.remaining_rho))
    return parts


def _person(name: str, share: Account, requests: Share | None) -> dict[str, Any]:
    count, last = (requests.count, requests.last) if requests else (0, "")
    return {"name": name, "parts": _parts(share), "count": count, "last": last}


_LOCK = threading.Lock()  # matplotlib's font caches are not thread-safe


@dataclass(frozen=True)
class Palette:
    """Colours with sufficient contrast to the background: at least 4.5 for text."""

    text: str
    line: str
    cap: str
    grid: str


Size = tuple[float, float]
WIDE, NARROW = (8.6, 2.3), (3.6, 2.2)  # inches
LIGHT = Palette("#4d5753", "#1f6f54", "#9a3412", "#e3e6e2")
DARK = Palette("#a9b4ae", "#6fcf9f", "#f0a36b", "#2c3431")


SpendingPoints = tuple[tuple[datetime, float], ...]  # times of charges with the amounts spent so far, in order


@lru_cache(64)
def draw(points: SpendingPoints, cap: float, label: str, palette: Palette, size: Size = WIDE) -> bytes:
    """Return the chart of spending over time as SVG."""
    with _LOCK, mpl.rc_context({"svg.hashsalt": "hedgerow", "font.size": 8, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=size, layout="constrained", facecolor="none")  # transparent
        axes = figure.add_subplot(facecolor="none")
        _draw_steps(axes, points, palette.line)
        axes.axhline(cap, color=palette.cap, linewidth=1.2, linestyle=(0, (5, 3)))
        place: Any = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "top"}
        axes.annotate("cap", (0, cap), (4, -3), color=palette.cap, **place)
        axes.set_ylim(0, cap * 1.06)
        axes.locator_params(axis="y", nbins=5)
        axes.set_ylabel(label, color=palette.text)
        axes.tick_params(colors=palette.text, length=0)
        axes.grid(axis="y", color=palette.grid, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.spines["bottom"].set(visible=True, color=palette.grid)
        buffer = io.BytesIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _draw_steps(axes: Axes, points: SpendingPoints, colour: str) -> None:
    times: Any = [when for when, _ in points[:1] + points]
    amounts = [0.0, *(amount for _, amount in points)]
    axes.set_xticks(times[:1] + times[-1:] if times and times[0] < times[-1] else times[:1])
    if not times:
        return
    axes.fill_between(times, amounts, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.plot(times, amounts, drawstyle="steps-post", color=colour, linewidth=1.8)
    axes.plot(times[-1:], amounts[-1:], "o", color=colour, markersize=4)
    axes.xaxis.set_major_formatter(DateFormatter("%Y-%m-%d %H:%M UTC"))
    for label, side in zip(
        axes.get_xticklabels(), ("left", "right") if times[0] < times[-1] else ("center",), strict=True
    ):
        label.set_horizontalalignment(side)
