"""The dashboard: each role sees what is its own, forms are taken from the session's pages alone, no row is on any."""

import json
import re
import threading
import time
from contextlib import contextmanager
from fractions import Fraction

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from starlette.testclient import TestClient

from hedgerow.errors import ApprovalError, LedgerUnavailableError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.dashboard import create_dashboard, mount_dashboard
from hedgerow.service.ledger import verify as verify_module
from hedgerow.service.ledger.ledger import ChargeRequest
from hedgerow.service.ledger.tables import ENTRIES
from hedgerow.service.monitoring import Metrics, log_to_stderr
from hedgerow.service.pages import session_auth, views
from hedgerow.service.receipts import Receipt, Signer
from hedgerow.service.requests import Caller, Request
from tests.service.wards import ANA, BOB, MARGINALS, SHARES, WatchedRows
from tests.service.web import served, web

HOSTILE = '<script>alert("x")</script>'
SIGNER = Signer.new()
PAGES = ("/", "/requests", "/ledger", "/chart.svg?dataset=wards", "/chart.svg?dataset=wards&dark=1")
KEYS = ("/keys", "/approvals")
DOWNLOADS = ("answer", "receipt")
POSTS = ("/ledger/verify", "/keys/add", "/keys/revoke", "/approvals/decide", "/logout")
LOCAL = "http://127.0.0.1:8766"


class Dashboards:
    """Both apps, with a curator who was asked three questions behind them."""

    def __init__(self, service, rows, approvals):
        self.approvals = approvals
        self.service, self.rows, self.keys, self.ledger = service, rows, service.keys, service.curator.ledger
        mount_dashboard(service.app, self.ledger, service.keys, secure=False)
        self.metrics = Metrics(service.app.state.jobs, service.curator)
        self.own, self.token = self.anew()
        service.tokens["carla"] = service.keys.add("carla", "curator")
        self.answers, self.asked = {}, {}
        for name in ("ana", "bob", HOSTILE):
            self.answers[name] = service.curator.ask(
                Request(Caller(name, "analyst"), "wards", "marginals", "1", MARGINALS)
            )
            self.asked[name] = list(self.ledger.entries())[-1].data["request"]

    def anew(self):
        """Return the curator's app with a token that was not used."""
        return create_dashboard(self.ledger, self.keys, self.metrics, self.approvals)

    def client(self, name=""):
        """Return a client who is logged in, with its `base`; of nobody for ""."""
        own = name == "carla"
        client = TestClient(self.own if own else self.service.app, base_url=LOCAL, follow_redirects=False)
        client.base = "" if own else "/dashboard"
        if name:
            result = client.post(f"{client.base}/login", data={"key": self.service.tokens[name]})
            assert (result.status_code, result.headers["location"]) == (303, f"{client.base}/")
        return client

    def stranger(self, base):
        """Return a client of nobody of one of both apps."""
        client = self.client()
        client.app = client._transport.app = self.own if base == "" else self.service.app
        client.base = base
        return client


@contextmanager
def opened(folder, url=None):
    rows, url = WatchedRows(), url or f"sqlite:///{folder}/ledger.db"
    shares = {**SHARES, HOSTILE: Account(Fraction(1, 4))}
    with web(folder, rows, url, shares=shares, cap=4, signer=SIGNER) as service:
        yield Dashboards(service, rows, service.curator.approvals)


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("boards")) as dashboards:
        yield dashboards


@pytest.fixture
def fresh(tmp_path):
    with opened(tmp_path) as dashboards:
        yield dashboards


def get(client, path):
    return client.get(client.base + path)


def form_token(client):
    """Return the token that the forms of the session's pages send back."""
    return re.search(r'name="form_token" value="([^"]+)"', get(client, "/requests").text)[1]


def post(client, path, **fields):
    """Send a form of the session's."""
    return client.post(client.base + path, data={"form_token": form_token(client)} | fields)


SEEN = {
    "ana": ("/", "/requests", *PAGES[3:]),
    "kim": PAGES,
    "carla": (*PAGES, *KEYS),
}


def test_pages_work_on_either_database(tmp_path, ledger_url):
    with opened(tmp_path, ledger_url) as boards:
        for name, paths in SEEN.items():
            client = boards.client(name)
            assert [get(client, path).status_code for path in paths] == [200] * len(paths)
        curator, analyst = boards.client("carla"), boards.client("ana")
        assert "complete" in post(curator, "/ledger/verify").text
        assert post(curator, "/keys/add", name="new", role="analyst").status_code == 200
        for part in DOWNLOADS:
            assert get(analyst, f"/requests/{boards.asked['ana']}/{part}").status_code == 200
            assert get(analyst, f"/requests/%00/{part}").status_code == 404  # PostgreSQL refuses NUL in texts
        for query in ("before=%00", "analyst=%00", "dataset=%00wards"):
            assert get(curator, f"/requests?{query}").status_code == 200


def test_a_cap_in_rho_is_shown_as_its_epsilon_delta_guarantee(tmp_path):
    cap = Account(Fraction(1), Fraction(1, 10**6), accounting="zcdp")
    with web(tmp_path, cap=cap, shares={}) as service:
        mount_dashboard(service.app, service.curator.ledger, service.keys, secure=False)
        client = TestClient(service.app, base_url=LOCAL, follow_redirects=False)
        client.post("/dashboard/login", data={"key": service.tokens["kim"]})
        page = client.get("/dashboard/").text
        assert "guarantee: epsilon at most 1 at delta 1e-06" in page


@pytest.mark.parametrize("name", SEEN)
def test_each_role_sees_its_pages_and_no_other(boards, name):
    client = boards.client(name)
    for path in (*PAGES, *KEYS):
        assert (path, get(client, path).status_code) == (path, 200 if path in SEEN[name] else 404)
    for part in DOWNLOADS:
        result = get(client, f"/requests/{boards.asked['ana']}/{part}")
        assert result.status_code == (200 if name == "ana" else 404)
    posts = {"kim": POSTS[:1], "carla": POSTS[:4]}.get(name, ())
    for path in POSTS[:4]:
        assert (post(client, path).status_code != 404) == (path in posts)


@pytest.mark.parametrize("base", ["", "/dashboard"])
def test_without_a_session_there_is_the_form_to_log_in_alone(boards, base):
    client = boards.stranger(base)
    for path in (*PAGES, *(KEYS if base == "" else (f"/requests/{boards.asked['ana']}/answer",))):
        result = get(client, path)
        assert (result.status_code, result.headers["location"]) == (303, f"{base}/login")
    assert get(client, "/login").status_code == 200
    for path in POSTS if base == "" else (POSTS[0], POSTS[4]):
        assert client.post(base + path).status_code == 401


def test_all_invalid_keys_get_the_same_message(boards):
    wrong = {
        "": ("", "hr_", "x" * 200, boards.service.tokens["ana"], boards.service.tokens["kim"]),
        "/dashboard": ("", "hr_", "é", boards.service.tokens["carla"], f"{boards.service.tokens['ana']}x"),
    }
    for base, keys in wrong.items():
        result = [boards.stranger(base).post(f"{base}/login", data={"key": key}) for key in keys]
        assert {(response.status_code, response.text) for response in result} == {(401, result[0].text)}
        assert not any("set-cookie" in response.headers for response in result)


def test_the_link_opens_once(boards):
    app, token = boards.anew()
    client, other = (TestClient(app, base_url=LOCAL, follow_redirects=False) for _ in range(2))
    client.base = ""
    assert client.head(f"/?token={token}").headers["location"] == "/login"  # as a preview of the link would
    for wrong in ("", "x", token[:-1], token + "é"):
        assert client.get("/", params={"token": wrong}).status_code == 401
    result = client.get(f"/?token={token}")
    assert (result.status_code, result.headers["location"]) == (303, "/")
    assert client.get("/keys").status_code == 200
    again = other.get(f"/?token={token}")
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    assert post(client, "/logout").headers["location"] == "/login"
    assert client.get("/keys").status_code == 303


@pytest.mark.parametrize("secure", [False, True])
def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(boards, secure):
    app = FastAPI()
    mount_dashboard(app, boards.ledger, boards.keys, secure=secure)
    client = TestClient(app, follow_redirects=False)
    cookie = client.post("/dashboard/login", data={"key": boards.service.tokens["ana"]}).headers["set-cookie"]
    value, *flags = cookie.split("; ")
    assert set(flags) == {"HttpOnly", "Path=/dashboard", "SameSite=strict", *(["Secure"] if secure else [])}
    assert len(value.partition("=")[2]) == 43  # 256 bits


def test_a_page_of_another_name_for_this_machine_is_refused(boards):
    client = boards.client("carla")
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:8766", "2130706433"):
        for path in ("/", "/login", "/metrics", "/healthz", f"/?token={boards.token}"):
            assert client.get(path, headers={"Host": host}).status_code == 400
    assert client.get("/healthz", headers={"Host": "localhost:1"}).status_code == 200


def test_a_form_of_another_session_changes_nothing(boards):
    carla, other = boards.client("carla"), boards.client("carla")
    token, own = form_token(other), form_token(carla)
    fields = {"name": "mallory", "role": "curator"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    forged = [
        {"data": fields},
        {"data": fields | {"form_token": token}},
        {"data": fields | {"form_token": "é"}},
        {"data": fields | {"form_token": own}, "headers": {"Sec-Fetch-Site": "cross-site"}},
        {"data": fields | {"form_token": own}, "headers": {"Sec-Fetch-Site": "same-site"}},
        {"data": fields | {"form_token": own}, "headers": {"Origin": "http://evil.example"}},
        {"data": fields | {"form_token": own}, "headers": {"Origin": "null"}},
        {"json": fields | {"form_token": own}},
        {"content": f"form_token={own}&name=mallory&role=curator".encode(), "headers": {"content-type": "text/plain"}},
        {"content": b"form_token=" + own.encode() + b"&name=" + b"m" * 5000, "headers": form},
        {"content": b"&".join(b"a=1" for _ in range(9)) + b"&form_token=" + own.encode(), "headers": form},
        {"content": b"\xff", "headers": form},
    ]
    for form in forged:
        assert carla.post("/keys/add", **form).status_code == 403
    assert "mallory" not in {caller.name for caller in boards.keys.callers()}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert carla.post("/login", data={"key": ""}, headers=headers).status_code == 403
    assert carla.post("/login", data={"key": ""}, headers={"Origin": str(carla.base_url)}).status_code == 401
    assert carla.get("/keys/add", params=fields | {"form_token": own}).status_code == 405


def everything(boards):
    """Yield who asked, what, and the response, for every page of every caller."""
    for name in (*SEEN, "bob", ""):
        for base in ("", "/dashboard"):
            inside = name if (name == "carla") == (base == "") else ""
            client = boards.client(inside) if inside else boards.stranger(base)
            parts = [f"/requests/{request}/{part}" for request in boards.asked.values() for part in DOWNLOADS]
            more = (
                "/login",
                "/static/style.css",
                "/static/icon.svg",
                "/static/x",
                "/x",
                "/requests?page=9&analyst=ana",
            )
            for path in (*PAGES, *KEYS, *more, *parts):
                yield inside, path, get(client, path)
            if inside:
                yield inside, "/ledger/verify", client.post(f"{client.base}/ledger/verify")
    carla = boards.client("carla")
    yield "carla", "/ledger/verify", post(carla, "/ledger/verify")
    yield "carla", "/keys/revoke", post(carla, "/keys/revoke", name=HOSTILE)
    yield "", "/dashboard", boards.client().get("/dashboard")


@pytest.fixture(scope="module")
def seen(boards):
    return list(everything(boards))


def test_every_response_has_the_headers(seen):
    for _, path, response in seen:
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "script" not in policy
        assert ("unsafe-inline" in policy) == (
            response.headers.get("content-type") == "image/svg+xml" and "chart" in path
        )
        assert "frame-ancestors 'none'; base-uri 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["cache-control"] == "no-store"


def test_pages_have_no_scripts_inline_styles_or_external_resources(seen):
    for _, _, response in seen:
        if response.headers.get("content-type", "").startswith("text/html"):
            assert not re.search(r"<script|<style|<iframe|<object|javascript:| on\w+=| style=|https?://", response.text)


def test_pages_neither_contain_nor_read_rows(boards, seen):
    assert boards.rows.touched == len(boards.asked)
    assert not any("CANARY" in response.text for _, _, response in seen)


def test_only_its_analyst_sees_an_answer(boards, seen):
    for name, path, response in seen:
        if re.search(r"/(answer|receipt)$", path):
            own = name in boards.asked and boards.asked[name] in path
            assert (response.status_code == 200) == own
        elif response.status_code == 200 and name:
            assert "hedgerow/answer" not in response.text
            assert "&#34;rows&#34;:" not in response.text  # the key of an answer


def test_an_analyst_sees_no_data_of_another_analyst(boards):
    bob = boards.client("bob")
    for path in ("/", "/requests", "/requests?analyst=ana", "/requests?dataset=wards", PAGES[3]):
        text = get(bob, path).text
        assert boards.asked["ana"][:8] not in text
        assert ">ana<" not in text
        assert "rows of 2026" not in text
    assert boards.asked["bob"][:8] in get(bob, "/requests?analyst=ana").text
    assert get(bob, PAGES[3]).content != get(boards.client("kim"), PAGES[3]).content
    eve = boards.client("eve")  # has a key, and no cap
    assert "no cap" in get(eve, "/").text
    assert get(eve, PAGES[3]).status_code == 404
    assert "No request" in get(eve, "/requests").text


def test_an_analyst_gets_the_stored_answer_with_its_receipt(boards):
    ana, request, answer = boards.client("ana"), boards.asked["ana"], boards.answers["ana"]
    body, receipt = (get(ana, f"/requests/{request}/{part}") for part in DOWNLOADS)
    assert (body.content, receipt.text) == (answer.body, answer.receipt)
    assert Receipt.verify(receipt.text, SIGNER.public).statement["request"] == request
    assert body.headers["content-disposition"] == f'attachment; filename="{request}.json"'


def test_names_are_text_and_never_markup(seen):
    result = [response.text for _, _, response in seen if "alert(" in response.text]
    assert result
    assert not any("<script" in text or 'alert("x")' in text for text in result)


def test_displayed_budgets_are_rounded_conservatively(fresh):
    for caller, epsilon in ((ANA, b"1/3"), (BOB, b"1/7")):
        fresh.service.curator.ask(Request(caller, "wards", "marginals", "third", MARGINALS.replace(b"1/4", epsilon)))
    spent = Fraction(3, 4) + Fraction(1, 3) + Fraction(1, 7)  # 1.226190…, of 4
    text = get(fresh.client("kim"), "/").text
    assert f'<data value="{spent}" title="exactly {spent}">≈ 1.22620</data>'.replace("20<", "2<") in text
    assert f'<data value="{4 - spent}" title="exactly {4 - spent}">≈ 2.7738</data>' in text
    assert f"epsilon: {spent} spent, {4 - spent} left, cap 4" in text
    own = get(fresh.client("bob"), "/").text
    assert f"epsilon: {Fraction(1, 4) + Fraction(1, 7)} spent" in own
    assert str(spent) not in own


def test_a_revoked_key_ends_its_sessions(fresh):
    ana, carla = fresh.client("ana"), fresh.client("carla")
    assert get(ana, "/").status_code == 200
    assert post(carla, "/keys/revoke", name="ana").headers["location"] == "/keys"
    assert get(ana, "/").headers["location"] == "/dashboard/login"
    made = re.search(r"hr_[\w-]{43}", post(carla, "/keys/add", name="ana", role="analyst").text)[0]
    assert fresh.keys.caller(made) == ANA
    assert get(ana, "/").status_code == 303  # a new key does not bring the old session back
    assert made not in get(carla, "/keys").text
    fresh.keys.revoke("carla")
    assert get(carla, "/keys").status_code == 303


def test_a_key_without_an_expiry_is_not_reported_as_revoked(fresh):
    text = get(fresh.client("carla"), "/keys").text
    assert '<td data-label="Expires (UTC)">does not expire</td>' in text
    assert "revoked" not in text


def test_a_session_ends_after_eight_hours(boards, monkeypatch):
    ana, now = boards.client("ana"), session_auth.time.monotonic()
    monkeypatch.setattr(session_auth.time, "monotonic", lambda: now + 8 * 3600 - 60)
    assert get(ana, "/").status_code == 200
    monkeypatch.setattr(session_auth.time, "monotonic", lambda: now + 8 * 3600 + 60)
    assert get(ana, "/").status_code == 303


def test_keys_that_cannot_be_made_or_revoked_are_refused_on_the_page(boards):
    carla = boards.client("carla")
    for path, fields, problem in (
        ("/keys/add", {"name": "ana", "role": "analyst"}, "revoke it first"),
        ("/keys/add", {"name": "", "role": "analyst"}, "1 to 200 printable ASCII"),
        ("/keys/add", {"name": "x", "role": "king"}, "role"),
        ("/keys/revoke", {"name": "nobody"}, "has no key"),
    ):
        result = post(carla, path, **fields)
        assert result.status_code == 422
        assert problem in result.text


def test_a_question_that_waits_is_decided_on_the_page(fresh):
    def waits(key, refused):
        with pytest.raises(ApprovalError) as raised:
            fresh.approvals.require("wards", HOSTILE, key, Charge(f"counts {HOSTILE}", Fraction(1)), f"all {HOSTILE}")
        return raised.value.refused == refused

    carla = fresh.client("carla")
    assert "waits for your" not in get(carla, "/").text
    assert "No questions are waiting" in get(carla, "/approvals").text
    assert all(waits(key, refused=False) for key in ("one", "two"))
    assert "2 questions are waiting for your" in get(carla, "/").text
    assert "2 questions wait for your" not in get(fresh.client("kim"), "/").text
    page = get(carla, "/approvals").text
    assert page.count("all &lt;script&gt;alert(") == 2
    assert HOSTILE not in page
    assert post(carla, "/approvals/decide", number="1", decision="approve").headers["location"] == "/approvals"
    assert post(carla, "/approvals/decide", number="2", decision="refuse").status_code == 303
    decided = [entry for entry in fresh.ledger.entries() if entry.kind == "decided"]
    assert [entry.data["by"] for entry in decided] == ["carla"] * 2
    fresh.approvals.require("wards", HOSTILE, "one", Charge("", Fraction(1)), "")
    assert waits("two", refused=True)
    assert "Withdraw approval 1 of" in get(carla, "/approvals").text
    assert post(carla, "/approvals/decide", number="1", decision="withdraw").status_code == 303
    assert "Withdraw approval" not in get(carla, "/approvals").text
    assert waits("one", refused=True)
    for number, decision in (("1", "withdraw"), ("3", "refuse"), ("x", "refuse"), ("1", ""), ("", "approve")):
        assert post(carla, "/approvals/decide", number=number, decision=decision).status_code == 422


def test_verification_finds_what_was_changed_and_pages_say_so(fresh):
    kim = fresh.client("kim")
    post(kim, "/ledger/verify")
    fresh.ledger.verifying.wait(60)
    result = get(kim, "/ledger")
    assert result.status_code == 200
    assert str(fresh.ledger.verify()) in result.text
    token = form_token(kim)
    with fresh.ledger._database.writing() as connection:
        for guard in (
            connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
        ):
            connection.exec_driver_sql(f"DROP TRIGGER {guard}")
        changed = sa.func.replace(ENTRIES.c.content, "1/4", "1/5")
        connection.execute(ENTRIES.update().where(ENTRIES.c.sequence == 2).values(content=changed))
    assert "is broken" in post(kim, "/ledger/verify", form_token=token).text
    assert get(fresh.client("kim"), "/ledger").status_code == 500
    assert get(fresh.client("carla"), "/").status_code == 500


def request(key):
    """Return a request of ana's, as the ledger takes it."""
    return ChargeRequest("wards", "ana", key, "0" * 64, Charge("a test", Fraction(1, 1000)))


def test_what_nobody_expected_is_told_without_its_text(boards, monkeypatch, caplog):
    monkeypatch.setattr(boards.ledger, "shares", lambda _: (_ for _ in ()).throw(ValueError("CANARY")))
    result = get(boards.client("ana"), "/")
    assert result.status_code == 500
    assert "CANARY" not in result.text + caplog.text
    assert "ValueError" in caplog.text


@pytest.mark.parametrize("base", ["", "/dashboard"])
def test_errors_of_a_database_log_in_do_not_quote_the_driver(boards, monkeypatch, base):
    client = boards.client("carla" if base == "" else "kim")
    client._transport.raise_server_exceptions = False
    for name in ("holder", "caller"):
        monkeypatch.setattr(boards.keys, name, lambda _: (_ for _ in ()).throw(ValueError("CANARY")))
    for result in (get(client, "/ledger"), client.post(f"{base}/login", data={"key": "x"})):
        assert (result.status_code, "The page failed" in result.text, "CANARY" in result.text) == (500, True, False)
        assert result.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_single_verification_runs_at_a_time_without_blocking(fresh, monkeypatch):
    kim, going = fresh.client("kim"), threading.Event()
    advance, ran = fresh.ledger.log.advance, []

    def slow(verification):
        ran.append(verification)
        going.wait(60)
        return advance(verification)

    monkeypatch.setattr(fresh.ledger.log, "advance", slow)
    monkeypatch.setattr(views, "_PATIENCE", 0.05)
    for _ in range(2):
        assert re.search(r"Verifying: 0 of \d+ entries verified", post(kim, "/ledger/verify").text)
    assert "Refresh" in get(kim, "/ledger").text
    going.set()
    fresh.ledger.verifying.wait(60)
    assert len(ran) == 1
    assert "complete; the last" in get(kim, "/ledger").text


def test_a_verification_that_was_interrupted_goes_on_from_its_checkpoint(fresh, monkeypatch):
    kim = fresh.client("kim")
    monkeypatch.setattr(verify_module, "AT_ONCE", 2)
    advance, first = fresh.ledger.log.advance, []

    def failing(verification):
        if len(first) == 2:
            raise LedgerUnavailableError("CANARY")
        first.append(verification.entries)
        return advance(verification)

    with monkeypatch.context() as patch:
        patch.setattr(fresh.ledger.log, "advance", failing)
        post(kim, "/ledger/verify")
        fresh.ledger.verifying.wait(60)
    page = get(kim, "/ledger").text
    assert ("Interrupted after 4 entries" in page, ">Continue<" in page, "CANARY" in page) == (True, True, False)
    seen = []
    monkeypatch.setattr(fresh.ledger.log, "advance", lambda one: seen.append(one.entries) or advance(one))
    post(kim, "/ledger/verify")
    fresh.ledger.verifying.wait(60)
    assert (first, seen[0]) == ([0, 2], 4)
    assert "complete; the last" in get(kim, "/ledger").text


def test_log_ins_are_logged_with_names_and_roles_and_no_key(boards, capsys):
    log_to_stderr()
    client = boards.client("ana")
    boards.client().post("/dashboard/login", data={"key": "hr_wrong"})
    boards.client().post("/dashboard/login", data={"key": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    boards.stranger("").get(f"/?token={boards.token}x")
    post(client, "/logout")
    err = capsys.readouterr().err
    lines = [json.loads(line) for line in err.splitlines()]
    told = [(line["outcome"], line["name"], line["role"], line["status"]) for line in lines]
    assert lines[1]["reason"] == "the API key is not valid: it is unknown or was revoked."
    refused = [("log-in refused", None, None, status) for status in (401, 403, 401)]
    assert told == [("logged in", "ana", "analyst", 303), *refused, ("logged out", "ana", "analyst", 303)]
    for secret in (boards.service.tokens["ana"], "hr_wrong", boards.token):
        assert secret not in err


def test_long_tables_are_paged(fresh):
    for number in range(2, 53):
        fresh.ledger.fail(fresh.ledger.reserve(request(str(number))), "a test")
    kim = fresh.client("kim")
    first = get(kim, "/requests?analyst=ana").text
    (following,) = re.findall(r'rel="next" href="[^"]*/requests\?(before=[-\w]+&amp;analyst=ana)"', first)
    second = get(kim, f"/requests?{following.replace('&amp;', '&')}").text
    assert [text.count("<tr>") - 1 for text in (first, second)] == [50, 2]
    assert ("Newest" in second, 'rel="next"' in second, "53 charged requests" in second) == (True, False, False)
    assert boundaries(kim) == [(109, 60), (59, 10), (9, 1)]
    for odd in ("0", "x", "-1", "9" * 99, "²", ""):
        assert get(kim, f"/ledger?before={odd}").status_code == 200
        assert get(kim, f"/requests?before={odd}").status_code == 200


def boundaries(client):
    """Return the first and last entry of each page of the ledger."""
    result, query = [], ""
    while True:
        text = get(client, f"/ledger{query}").text
        page = re.findall(r'<th scope="row">(\d+)</th>', text)
        result.append((int(page[0]), int(page[-1])))
        following = re.findall(r'rel="next" href="[^"]*/ledger(\?before=\d+)"', text)
        if not following:
            return result
        query = following[0]


class Reader:
    """Somebody at a browser, who waits for each page."""

    def __init__(self, browser):
        self.browser = browser

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def follow(self, element):
        """Click on what leads to another page, and return the text of that."""
        before = self.find("html").id
        element.click()
        for _ in range(500):
            if self.find("html").id != before:
                break
            time.sleep(0.01)
        return self.find("main").text

    def turn(self, page):
        return self.follow(self.browser.find_element("link text", page))

    def log_in(self, url, key):
        self.browser.get(url)
        self.find("#key").send_keys(key)
        return self.follow(self.find("main button"))

    def resize(self, width):
        sizes = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)


@pytest.mark.slow
def test_a_browser_clicks_through_without_an_error(fresh, browser):
    reader, script = Reader(browser), browser.execute_script
    with served(fresh.own) as own, served(fresh.service.app) as url:
        browser.get(f"{own}/?token={fresh.token}")
        for width in (1280, 360):
            reader.resize(width)
            for page in ("Budgets", "Requests", "Ledger", "Keys"):
                assert page in reader.turn(page)
                assert script("return document.documentElement.scrollWidth <= window.innerWidth")
        reader.turn("Budgets")
        assert script("return [...document.images].every(one => one.complete && one.naturalWidth > 0)")
        reader.turn("Ledger")
        assert "complete; the last has the hash" in reader.follow(reader.find("main form button"))
        reader.turn("Keys")
        reader.find("#name").send_keys("dora")
        assert re.search(r"hr_[\w-]{43}", reader.follow(reader.find("main form button")))
        reader.find('summary[aria-label="Revoke the key of dora"]').click()
        assert "dora" not in reader.follow(reader.find("details[open] button"))
        reader.log_in(f"{url}/dashboard", fresh.service.tokens["bob"])
        assert fresh.asked["bob"][:8] in reader.turn("Requests")
        assert "Log in" in reader.follow(reader.find(".who button"))
        assert "Budgets" in reader.log_in(f"{url}/dashboard/ledger", fresh.service.tokens["kim"])
        assert browser.get_log("browser") == []
