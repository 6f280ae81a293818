"""The benchmark of peers on the same bins: what it hands over, what it takes as their best, and how it skips one."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.page import ROOT

CHECK = """
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import same_bins

frame, labels, schema = same_bins.TABLES["german"]()
X, X_test = frame[:800], frame[800:]
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "split.npz"
    same_bins.write(file, schema, X, X_test, labels[:800])
    data = np.load(file)
    assert data["X"].shape == (800, len(schema)) and data["X_test"].shape == (200, len(schema))
    assert (data["X"].max(axis=0) < data["sizes"]).all() and data["X"].min() == 0
    assert data["ordered"].sum() == sum(hasattr(attribute, "low") for _, attribute in schema.attributes)

    os.environ["PEERS"] = folder
    assert list(same_bins.asked("S-BDT", file, 0)) == []
    (Path(folder) / "sbdt").mkdir()
    assert list(same_bins.asked("S-BDT", file, 0)) == []

runs = pd.DataFrame(
    [(0, "a", 0.7, 0.5, 1), (1, "a", 0.8, 0.4, 1), (0, "b", 0.6, 0.3, 2), (1, "b", 0.7, 0.4, 2)],
    columns=["split", "setting", "AUROC", "log-loss", "seconds"],
)
card = pd.DataFrame({"split": [0, 1, 2], "AUROC": [0.9, 0.6, 0.5], "log-loss": [0.3, 0.5, 0.6]}).set_index("split")
for score in ("AUROC", "log-loss"):
    print(json.dumps(same_bins.best(runs, card, score)))
"""


def test_same_bins_and_splits_are_compared_and_skipped_peers_have_a_reason():
    # In a process of its own, as `measure` limits threads.
    command = [sys.executable, "-c", CHECK]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    missing, broken, area, loss = done.stdout.splitlines()
    assert missing.startswith("S-BDT is skipped: expected its code in ")
    assert broken.startswith("S-BDT is skipped: FileNotFoundError")
    assert '"setting": "a", "reached": 0.75' in area
    assert '"scorecard less it": 0.0, "standard error of this": 0.2' in area
    assert '"setting": "b", "reached": 0.35' in loss
    assert '"scorecard less it": 0.05, "standard error of this": 0.05' in loss
