"""Claim: what charges or answers does so in the process that made it alone.

A Gaussian oracle's second answer is charged with its first: each of 300 forks gave one more, with noise of its own. A
copy of an oracle, of a share, of answers kept or of a connection is a second one that tells nobody what it spent.
"""

import ast
import copy
import ctypes
import json
import multiprocessing
import os
import pickle
import signal
import threading
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path

import httpx2
import ibis
import joblib
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.client import RemoteCurator, RemoteDataset, RemoteOracle
from hedgerow.client.http import Connection
from hedgerow.errors import NotPicklableError, StateError
from hedgerow.privacy import process
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, SecureNoise
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.schema import Real, Schema
from hedgerow.service.curator import Curator
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.requests import Request
from tests.service.wards import ANA, MARGINALS, SCHEMA, curator_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]
SOURCES = (Path(hr.__file__).parent, Path(__file__).parents[2] / "studies")
BINS = Schema({"x0": Real(0.0, 10.0, (2.5, 5.0), missing="bin", outside="clip")})
X, Y = np.arange(200.0)[:, None] % 10, np.arange(200) % 2
DELTA = Fraction(1, 10**6)


def oracle_of(release="gaussian", budget=None, asked=True):
    oracle = hr.Oracle(X, Y, budget or hr.Budget(1, DELTA), 400, release=release)
    if asked:
        oracle.marginals(BINS)
    return oracle


def one_of(kind, folder):
    """Return an object of a class that charges or answers, and what it is asked; it was asked once before."""
    budget = hr.Budget(1, DELTA)
    if kind is hr.Budget:
        return budget, lambda: budget.charge(0.1, purpose="x")
    if kind is FileBudget:
        result = FileBudget.create(folder / "one.json", 1)
        return result, lambda: result.charge(0.1, purpose="x")
    if kind is Gate:
        gate = Gate(budget, SecureNoise())
        return gate, lambda: gate.release(GaussianCounts(1, DELTA, 3, 2, 1), lambda: np.zeros(1, int), query="x")
    if kind is hr.Oracle:
        oracle = oracle_of()
        return oracle, lambda: oracle.marginals(BINS)
    federated = hr.oracle.FederatedOracle([oracle_of(), oracle_of()])
    return federated, lambda: federated.marginals(BINS)


@contextmanager
def remote(kind):
    """Yield an object of the client's, whose service would answer it, and what it is asked."""

    def answering(request):
        paths = {
            "/v1/datasets": ["wards"],
            "/v1/datasets/wards": {
                "dataset": "wards",
                "epoch": 1,
                "unit": None,
                "schema": SCHEMA.to_dict(),
                "columns": list(SCHEMA.names),
                "kinds": ["numbers", "boolean", "text"],
            },
        }
        return httpx2.Response(200, json=paths.get(request.url.path, {}))

    real = httpx2.Client
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx2.Client", lambda **given: real(transport=httpx2.MockTransport(answering), **given))
        curator = hr.connect("https://curator.example", key="hr_x")
        oracle = curator.oracle(1, epsilon=1)
        ask = {
            RemoteCurator: lambda: curator.budget,
            RemoteDataset: lambda: curator["wards"].budget,
            RemoteOracle: lambda: oracle.marginals(Schema({"age": SCHEMA["age"]})),
            Connection: lambda: curator._connection.get("/v1/datasets"),
        }
        result = {RemoteDataset: curator["wards"], RemoteOracle: oracle, Connection: curator._connection}
        yield result.get(kind, curator), ask[kind]
        curator.close()


@contextmanager
def held(kind, folder):
    """Yield an object of the service's, and what it is asked: a stored answer, which is not charged again."""
    with curator_of(f"sqlite:///{folder}/ledger.db") as curator:
        curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
        result = {Database: curator.ledger._database, Ledger: curator.ledger}.get(kind, curator)
        yield result, lambda: curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))


HERE = (hr.Budget, FileBudget, Gate, hr.Oracle, hr.oracle.FederatedOracle)
REMOTE = (RemoteCurator, RemoteDataset, RemoteOracle, Connection)
SERVICE = (Database, Ledger, Curator)
REFUSES = dict.fromkeys({*REMOTE} - {RemoteOracle}, Connection) | dict.fromkeys(SERVICE, Database) | {Gate: hr.Budget}
NAMES = {kind.__name__ for kind in (*HERE, *REMOTE, *SERVICE)}
COUNTED = {"marginals", "class_marginals", "level_marginals", "error_marginals"}
ANSWERS = {"charge", "allocate", "release", "ask", "reserve", *COUNTED}


@contextmanager
def asked(kind, folder):
    if kind in HERE:
        yield one_of(kind, folder)
        return
    with remote(kind) if kind in REMOTE else held(kind, folder) as result:
        yield result


every_class = pytest.mark.parametrize("kind", [*HERE, *REMOTE, *SERVICE], ids=lambda kind: kind.__name__)


def in_child(act, fork=os.fork):
    """Return what `act` gives in a forked child, as text, or the error that it raises."""
    reading, writing = os.pipe()
    child = fork()
    if not child:
        signal.alarm(20)  # a child that waits for a lock of a thread that is not there
        try:
            text = str(act())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode()[:4000])
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def refusal(kind):
    return f"StateError: {REFUSES.get(kind, kind).__name__} was created in another process"


def classes():
    """Yield the classes of the package and of the studies with their bases and methods."""
    for path in chain.from_iterable(source.rglob("*.py") for source in SOURCES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
                yield node.name, bases, {part.name for part in node.body if isinstance(part, ast.FunctionDef)}


@pytest.mark.claim("work only in the process that created them")
def test_no_class_that_charges_or_answers_is_left_out():
    result, known = list(classes()), {"ProcessBound"}
    for _ in range(4):  # a subclass of a subclass
        known |= {name for name, bases, _ in result if bases & known}
    answering = {name for name, bases, methods in result if methods & ANSWERS and "Protocol" not in bases}
    public = {"BoxFactor", "ListedFactor", "RowDistribution", "Form"}  # marginals of no rows; an amount
    public |= {"LeafNumbers", "ReleaseRunner"}  # release through the gate that they are given
    public |= {"AnswerPlan"}  # what an oracle's answers cost
    abstract = {"ProcessBound", "BaseOracle", "LimitedOracle"}  # whose subclasses answer
    studied = {"WatchedOracle"}  # an Oracle that notes what it was asked
    assert (known | answering) - abstract - public == NAMES | studied


@every_class
@pytest.mark.claim("work only in the process that created them")
def test_it_refuses_in_a_fork(kind, tmp_path):
    with asked(kind, tmp_path) as (_, ask):
        assert in_child(ask).startswith(refusal(kind))


@every_class
def test_a_number_of_a_process_that_comes_again_deceives_nobody(kind, tmp_path, monkeypatch):
    number = os.getpid()
    with asked(kind, tmp_path) as (_, ask):
        monkeypatch.setattr("os.getpid", lambda: number)
        assert in_child(ask).startswith(refusal(kind))


@every_class
def test_it_refuses_in_a_fork_that_python_did_not_make(kind, tmp_path):
    with asked(kind, tmp_path) as (_, ask):
        assert in_child(ask, ctypes.PyDLL(None).fork).startswith(refusal(kind))


@every_class
def test_it_answers_where_it_was_made_also_in_a_thread(kind, tmp_path):
    with asked(kind, tmp_path) as (_, ask):
        in_child(ask)
        raised = []

        def act():
            try:
                ask()
            except Exception as error:
                raised.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        act()
        assert not any(isinstance(error, StateError) for error in raised)


@every_class
@pytest.mark.claim("work only in the process that created them")
def test_it_cannot_be_pickled_and_a_copy_is_the_same(kind, tmp_path):
    with asked(kind, tmp_path) as (item, _):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(NotPicklableError, match="cannot be pickled"):
                pickle.dumps(item, protocol)
        if not isinstance(item, Gate | Ledger | Curator):  # these share what is one
            assert copy.copy(item) is copy.deepcopy(item) is item
            assert copy.deepcopy({"in": [item]})["in"][0] is item


@pytest.mark.parametrize("release", ["counts", "gaussian", "ratio"])
@pytest.mark.parametrize("first", [False, True], ids=["not asked yet", "asked"])
def test_an_oracle_of_every_kind_refuses_in_a_fork(release, first, tmp_path):
    table = ibis.duckdb.connect().sql("SELECT (i % 10)::DOUBLE AS x0, i % 2 AS y FROM range(200) AS t(i)")
    by_file = FileBudget.create(tmp_path / "b.json", 1, DELTA)
    oracles = [
        oracle_of(release, asked=first),
        oracle_of(release, by_file, asked=first),
        hr.Oracle(X, Y, None),
        hr.Oracle.from_table(table, "y", hr.Budget(1, DELTA), release=release),
        oracle_of(release, hr.Budget(1, DELTA).allocate(1, DELTA, purpose="a share"), asked=first),
    ]
    before = by_file.record
    for oracle in oracles:
        for ask in (
            lambda one: one.marginals(BINS),
            lambda one: one.error_marginals(BINS, hr.oracle.Always(1)),
        ):
            assert in_child(lambda ask=ask, oracle=oracle: ask(oracle)).startswith("StateError: ")
    assert by_file.record == before


def test_sixty_forks_learn_nothing():
    oracle = oracle_of()
    left, charges = oracle.queries_left, oracle.privacy
    assert {in_child(lambda: oracle.marginals(BINS).rows)[:10] for _ in range(60)} == {"StateError"}
    assert (oracle.queries_left, oracle.privacy) == (left, charges)
    assert len(oracle.marginals(BINS).rows) == 4


@pytest.mark.parametrize("kind", [hr.Oracle, hr.oracle.FederatedOracle, RemoteOracle])
def test_an_oracle_refuses_in_a_fork_while_a_thread_asks_it(kind, tmp_path):
    with asked(kind, tmp_path) as (oracle, ask), oracle._lock:
        assert in_child(ask).startswith(f"StateError: {kind.__name__}")


def test_charges_of_a_share_are_refused_in_a_fork():
    budget = hr.Budget(1)
    share = budget.allocate(Fraction(1, 2), purpose="a share")
    gate = Gate(share, SecureNoise())
    for act in (
        lambda: share.charge(0.1, purpose="x", no_guarantee="seeded"),
        lambda: share.check(0.1),
        lambda: budget.allocate(0.1, purpose="x"),
        lambda: gate.release(DiscreteLaplace(Fraction(1, 4)), lambda: pytest.fail("touched"), query="x"),
        lambda: hr.PrivateTreeClassifier(0.1, budget=budget, max_depth=1).fit(X.astype(int) % 2, Y),
    ):
        assert in_child(act).startswith("StateError: Budget was created in another process")
    assert budget.no_guarantee_reason is None


def test_a_budget_file_is_opened_by_each_process_of_its_own(tmp_path):
    FileBudget.create(tmp_path / "b.json", 1)
    charged = in_child(lambda: FileBudget(tmp_path / "b.json").charge(0.25, purpose="in the child"))
    assert (charged, FileBudget(tmp_path / "b.json").spent) == ("None", Fraction(1, 4))


def _marginals(oracle):
    return oracle.marginals(BINS).rows


GLOBAL = []


def _of_global(_):
    return GLOBAL[0].marginals(BINS).rows


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib_cannot_send_an_oracle(backend):
    oracle = oracle_of()
    with pytest.raises((NotPicklableError, pickle.PicklingError)) as raised:
        joblib.Parallel(2, backend=backend)(joblib.delayed(_marginals)(oracle) for _ in range(2))
    assert "pickle" in str(raised.value)


def test_joblib_threads_ask_the_one_oracle():
    oracle = oracle_of()
    left = oracle.queries_left
    answers = joblib.Parallel(2, backend="threading")(joblib.delayed(_marginals)(oracle) for _ in range(4))
    assert (len(answers), oracle.queries_left) == (4, left - 4)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_of_multiprocessing_cannot_be_given_an_oracle(method):
    context = multiprocessing.get_context(method)
    oracle = oracle_of()
    if method == "fork":
        GLOBAL[:] = [oracle]
        with context.Pool(1) as pool, pytest.raises(StateError, match="created in another process"):
            pool.map(_of_global, [0])
        return
    with pytest.raises(NotPicklableError, match="Oracle cannot be pickled"):
        context.Process(target=_marginals, args=(oracle,)).start()


def test_noise_of_forks_is_their_own():
    """The generator's state is copied by a fork; drawn from in parent and child, it would give the same noise."""

    def draw():
        return json.dumps(
            [
                DiscreteLaplace(Fraction(1, 10**6)).build()([0] * 3),
                GaussianCounts(Fraction(1, 10**3), DELTA, 1, 1, 1).build()(np.zeros(3, dtype=np.int64)),
                *SharedHistograms(Fraction(1, 10**6), (2, 1)).build()(np.zeros((1, 3), dtype=np.int64)),
            ]
        )

    draw()
    drawn = [text for _ in range(20) for text in (in_child(draw), draw())]
    assert all(text.startswith("[[") for text in drawn)
    assert len(set(drawn)) == 40


def test_a_process_is_told_from_its_children_and_theirs():
    here = process._here
    assert in_child(lambda: process._here is here) == "False"
    assert in_child(lambda: in_child(lambda: process._here is here)) == "False"
    assert process._here is here
