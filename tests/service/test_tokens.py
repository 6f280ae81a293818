"""Tokens are believed from one issuer, for one audience, until they expire, and for subjects that are known here."""

import json
import threading
import time
from types import SimpleNamespace

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from hedgerow.errors import AccessError, ArgumentError
from hedgerow.service.config import Config
from hedgerow.service.keys import Keys
from hedgerow.service.requests import Caller
from hedgerow.service.tokens import Tokens, caller_by
from tests.service.databases import ledger_at

KEY, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ISSUER, AUDIENCE = "https://login.example", "hedgerow"
CALLERS = {"ana@example": Caller("ana", "analyst"), "kim@example": Caller("kim", "auditor")}


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys.json"
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key())) | {
        "kid": "1",
        "use": "sig",
        "alg": "ES256",
    }
    path.write_text(json.dumps({"keys": [public]}))
    return path


@pytest.fixture
def tokens(keys):
    return Tokens(ISSUER, AUDIENCE, str(keys), "sub", CALLERS)


def token(key=KEY, algorithm="ES256", kid="1", **change):
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana@example", "exp": time.time() + 60} | change
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


def test_a_token_is_its_subjects(tokens):
    assert tokens.caller(token()) == CALLERS["ana@example"]
    assert tokens.caller(token(sub="kim@example", role="curator")) == CALLERS["kim@example"]
    assert tokens.caller(token(exp=time.time() - 10)) == CALLERS["ana@example"]  # clocks differ


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"exp": 1}, "expired"),
        ({"exp": None}, "required claim"),
        ({"iss": "https://other.example"}, "iss"),
        ({"iss": None}, "required claim"),
        ({"aud": "other"}, "aud"),
        ({"aud": None}, "required claim"),
        ({"sub": "eve@example"}, r"subject \(sub\) is not a caller"),
        ({"sub": None}, "required claim"),
        ({"nbf": 2**40}, "nbf"),
        ({"key": OTHER}, "signature"),
        ({"kid": "2"}, "kid"),
        ({"key": "secret" * 8, "algorithm": "HS256"}, "alg"),
        ({"key": None, "algorithm": "none"}, "alg"),
        ({"key": rsa.generate_private_key(65537, 2048), "algorithm": "RS256"}, "alg|signature|malformed"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_another_token_is_nobodys_for_a_stated_reason(tokens, change, reason):
    text = token(**change)
    with pytest.raises(AccessError, match=f"token is not valid: .*({reason})") as caught:
        tokens.caller(text)
    assert not any(part in str(caught.value) for part in (text, "eve@example", "other.example"))


@pytest.mark.parametrize("text", ["", "a.b.c", "hr_x", "x" * 10_000])
def test_what_is_no_token_is_nobodys(tokens, text):
    with pytest.raises(AccessError, match="malformed"):
        tokens.caller(text)


def test_unavailable_issuer_keys_admit_no_caller(tmp_path):
    with pytest.raises(AccessError, match="keys cannot be read"):
        Tokens(ISSUER, AUDIENCE, str(tmp_path / "none.json"), "sub", CALLERS).caller(token())
    for url in ("http://login.example/keys", "ftp://x/y"):
        with pytest.raises(ArgumentError, match="https://"):
            Tokens(ISSUER, AUDIENCE, url, "sub", CALLERS)


@pytest.fixture
def published(keys, monkeypatch):
    """Yield tokens whose issuer's keys are at a URL, the clock, how often it was asked, and what it then does first."""
    now, asked, first = [0.0], [], []
    result = list(jwt.PyJWKSet.from_json(keys.read_text()).keys)

    def ask(_):
        asked.append(now[0])
        for act in first:
            act()
        return result

    monkeypatch.setattr("jwt.PyJWKClient.get_signing_keys", ask)
    monkeypatch.setattr("hedgerow.service.tokens.time", SimpleNamespace(monotonic=lambda: now[0]))
    return Tokens(ISSUER, AUDIENCE, "https://login.example/keys", "sub", CALLERS), now, asked, first


def refused(tokens, **change):
    with pytest.raises(AccessError, match="token is not valid"):
        tokens.caller(token(**change))


def test_unpublished_keys_are_requested_rarely(published):
    tokens, now, asked, _ = published
    for kid in range(5):
        refused(tokens, kid=f"unknown {kid}")
        assert tokens.caller(token()) == CALLERS["ana@example"]
    now[0] = 10
    refused(tokens, kid="unknown")
    refused(tokens, kid="unknown")
    assert asked == [0, 10]


def test_a_failing_issuer_is_queried_rarely_and_its_keys_expire(published):
    tokens, now, asked, first = published
    tokens.caller(token())
    first.append(lambda: (_ for _ in ()).throw(jwt.PyJWKClientConnectionError("down")))
    for now[0] in (299, 300, 301, 309, 310):
        if now[0] < 300:
            assert tokens.caller(token()) == CALLERS["ana@example"]
        else:
            refused(tokens)
    first.clear()
    now[0] = 320
    assert tokens.caller(token()) == CALLERS["ana@example"]
    assert asked == [0, 300, 310, 320]


def test_an_unknown_caller_does_not_delay_others_at_the_issuer(published):
    tokens, now, asked, first = published
    tokens.caller(token())
    there, ends = threading.Event(), threading.Event()
    first.append(lambda: (there.set(), ends.wait(20)))
    now[0] = 10
    stranger = threading.Thread(target=refused, args=(tokens,), kwargs={"kid": "unknown"})
    stranger.start()
    assert there.wait(20)
    assert tokens.caller(token()) == CALLERS["ana@example"]
    refused(tokens, kid="another")
    assert stranger.is_alive()
    ends.set()
    stranger.join()
    assert asked == [0, 10]


def test_keys_and_tokens_go_side_by_side(tokens, tmp_path):
    ledger_at(f"sqlite:///{tmp_path}/ledger.db").close()
    with Keys(f"sqlite:///{tmp_path}/ledger.db") as keys:
        key = keys.add("bob", "analyst")
        caller = caller_by(keys, tokens)
        assert (caller(key).name, caller(token()).name) == ("bob", "ana")
        for unknown in (token(), "hr_x"):
            with pytest.raises(AccessError):
                caller_by(keys, None)(unknown)


def test_a_configuration_names_the_provider(keys, tmp_path):
    (tmp_path / "curator.json").write_text(
        json.dumps(
            {
                "ledger": "ledger.db",
                "datasets": {"a": {"table": "a.csv", "schema": "a.yaml", "cap": {"epsilon": 1}, "analysts": {}}},
                "tokens": {
                    "issuer": ISSUER,
                    "audience": AUDIENCE,
                    "keys": keys.name,
                    "callers": {"ana@example": {"name": "ana"}},
                },
            }
        )
    )
    assert Config.read(tmp_path / "curator.json").tokens.caller(token()) == CALLERS["ana@example"]
