"""A demonstration: a curator of a public table, with a new ledger, key and analyst."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hedgerow.datasets import load
from hedgerow.privacy.account import Account
from hedgerow.service.curator import Curator, Held
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.receipts import Signer
from hedgerow.service.rows import FrameRows

DATASET, ANALYST = "breast_cancer", "demo"
CAP = Fraction(10)


def demo_curator(folder: Path) -> tuple[Curator, Keys, str]:
    """Return a curator of scikit-learn's breast cancer table, with its ledger in a folder, its keys, and one of them.

    The analyst may spend ε = 10, which is much: this is for a first look.
    """
    url = f"sqlite:///{folder / 'ledger.db'}"
    data, ledger, keys = load(DATASET), Ledger(url), Keys(url)
    ledger.declare(DATASET, Account(CAP), {ANALYST: Account(CAP)}, reason="a demonstration on public rows")
    signer = Signer.new()
    signer.save(folder / "curator.key")
    held = Held(data.schema, FrameRows.of(data.frame, data.labels, data.schema))
    return Curator(ledger, {DATASET: held}, signer=signer), keys, keys.add(ANALYST, "analyst")
