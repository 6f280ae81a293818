"""A small dataset in a curator's hands, for tests of the service."""

import json
import threading
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pandas as pd

from hedgerow.privacy.account import Account
from hedgerow.schema import Boolean, Categorical, Integer, Label, Number, Schema
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.requests import Caller
from hedgerow.service.rows import FrameRows
from tests.service.databases import ledger_at

SCHEMA = Schema(
    {"age": Integer(18, 90, cuts=(40, 60)), "smoker": Boolean(), "ward": Categorical(("a", "b", "c"))},
    Label("ill", ("no", "yes")),
)
STAYS = Schema(SCHEMA.attributes, Number("days", 0, 32, 8))
BINS = {
    "age": {"kind": "integer", "low": 18, "high": 90, "cuts": [40, 60], "missing": "bin", "outside": "clip"},
    "smoker": {"kind": "boolean", "missing": "bin"},
}
ANA, BOB, AUDITOR = Caller("ana", "analyst"), Caller("bob", "analyst"), Caller("kim", "auditor")
SHARES = {"ana": Account(Fraction(2)), "bob": Account(Fraction(1))}


def table(n_rows=400, seed=0):
    """Return rows and labels: the ill are old smokers, mostly."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, n_rows),
            "smoker": rng.random(n_rows) < 0.3,
            "ward": rng.choice(["a", "b", "c"], n_rows),
            "name": [f"CANARY{i}" for i in range(n_rows)],
        }
    )
    ill = (frame.age > 60) & frame.smoker | (rng.random(n_rows) < 0.1)
    return frame, pd.Series(np.where(ill, "yes", "no"), name="ill")


def stays(n_rows=400, seed=0):
    """Return rows and a number: old smokers stay longest; some numbers are beyond the bounds."""
    frame, _ = table(n_rows, seed)
    days = np.where((frame.age > 60) & frame.smoker, 26.0, 6.0) + np.random.default_rng(seed).normal(0, 5, n_rows)
    return frame, pd.Series(days.round(2), name="days")


def question(**entries):
    """Return the body of a question."""
    return json.dumps(entries).encode()


EXAMPLES = {
    "marginals": {"bins": BINS},
    "error-marginals": {"bins": BINS, "hypothesis": {"always": "yes"}},
    "fits": {"model": "tree", "parameters": {"max_depth": 1}},
}
"""A question of each kind, without its cost; the tests of all kinds ask these."""


def example(kind, **entries):
    """Return the body of the example of a kind of question, which costs 1/4."""
    return question(**{"epsilon": "1/4", **EXAMPLES[kind], **entries})


MARGINALS = example("marginals")


@contextmanager
def curator_of(url, rows=None, cap=3, shares=SHARES, schema=SCHEMA, **more):
    """Open a curator of one dataset."""
    frame, labels = table()
    of_dataset = ("answer_after", "oversubscribed", "approval", "min_epsilon", "longest_search")
    held = {name: more.pop(name) for name in of_dataset if name in more}
    with ledger_at(url) as ledger:
        if not list(ledger.entries()):
            whole = cap if isinstance(cap, Account) else Account(Fraction(cap))
            oversubscribed = held.get("oversubscribed", False)
            more_of = {"oversubscribed": oversubscribed, "unit": schema.unit}
            ledger.declare("wards", whole, shares, reason="the rows of 2026", **more_of)
        rows = FrameRows.of(frame, labels, schema) if rows is None else rows
        yield Curator(ledger, {"wards": HostedDataset(schema, rows, **held)}, **more)


class Exact:
    """Noise that adds nothing, and says so."""

    no_guarantee_reason, description = "exact, for a test", "none"

    def prepare(self, _):
        return lambda values: values.tolist()


class WatchedRows:
    """Rows that note when they are touched, wait until they may be, and may fail then."""

    def __init__(self, *, fails=False, waits=False):
        frame, labels = table()
        self.rows = FrameRows.of(frame, labels, SCHEMA)
        self.target, self.touched, self.fails, self.when = self.rows.target, 0, fails, lambda: None
        self.begun, self.go = threading.Event(), threading.Event()
        if not waits:
            self.go.set()

    def _touch(self):
        self.touched += 1
        self.begun.set()
        assert self.go.wait(10)
        self.when()
        if self.fails:
            raise ValueError("a cell: CANARY")

    def probe(self):
        pass

    def opened(self):
        self._touch()
        return self.rows.opened()

    def tally(self, schema):
        self._touch()
        return self.rows.tally(schema)
