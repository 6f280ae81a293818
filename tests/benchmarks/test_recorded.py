"""The audit by dp-recorder: the calls and mechanisms that it covers and, if dp-recorder is installed, its verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.page import ROOT

MECHANISMS = """
import hedgerow.learn.ssrl, hedgerow.oracle, hedgerow.privacy, importlib, inspect, json, pkgutil
from recorder_distances import DISTANCES
found = set()
for package in (hedgerow.learn.ssrl, hedgerow.oracle, hedgerow.privacy):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if hasattr(kind, "simulate") and hasattr(kind, "record") and not getattr(kind, "_is_protocol", False):
                found.add(name)
print(json.dumps([sorted(found), sorted(kind.__name__ for kind in DISTANCES)]))
"""
CALLS = """
import json, warnings, numpy as np
from hedgerow.privacy.gate import Gate
from recorder_calls import CALLS, UNPROVEN
from recorder_tables import codes, frame, pairs_of_persons, pairs_of_wide_rows
from unittest.mock import patch
warnings.simplefilter("ignore")
seen, release = set(), Gate.release

def observed(gate, mechanism, answer, **options):
    seen.update({type(mechanism).__name__, type(getattr(mechanism, "each", None)).__name__})
    return release(gate, mechanism, answer, **options)

rng = np.random.default_rng(0)
rows = codes(rng, 8, [2] * 40 + [3])
persons, table = pairs_of_persons(None, rng, 0)[0], frame(codes(rng, 8))
with patch.object(Gate, "release", observed):
    for call in [*CALLS, *UNPROVEN]:
        if call.pairs is not pairs_of_wide_rows:
            call(persons if call.pairs is pairs_of_persons else table)
print(json.dumps(sorted(seen)))
"""
AUDIT = """
import json, sys, warnings
from recorded import audited, control
from recorder import load
from recorder_calls import CALLS, UNPROVEN
from recorder_controls import CONTROLS
recorder = load(sys.argv[1])
warnings.simplefilter("ignore")
results = {call.name: audited(recorder, call, 0, 1, 2) for call in CALLS if call.share > 3}
print(json.dumps({
    "pairs": sum(result.pairs for result in results.values()),
    "flagged": [name for name, result in results.items() if result.is_flagged],
    "ratios": audited(recorder, UNPROVEN[-1], 0, 1, 2).is_flagged,
    "controls": {f"{item.name}: {item.kind}": control(recorder, item)["flagged"] for item in CONTROLS[::7]},
}))
"""


def run(code, *arguments):
    """Return what a script in the folder of the benchmarks prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    """The mechanisms, and those that have a distance."""
    return run(MECHANISMS)


def test_every_mechanism_has_a_distance_of_its_own(found):
    mechanisms, measured = found
    assert len(mechanisms) > 10
    assert mechanisms == measured


def test_mechanisms_are_defined_only_where_the_recorder_looks():
    source = ROOT / "src" / "hedgerow"
    files = [path.relative_to(source) for path in source.rglob("*.py") if "def simulate(" in path.read_text("utf-8")]
    assert files
    assert {path.parent.as_posix() for path in files} <= {"learn/ssrl", "oracle", "privacy"}


def test_every_audited_call_runs_and_uses_nearly_every_mechanism(found):
    """Attributes are only chosen in wide tables with a zCDP budget, which take longer."""
    mechanisms, _ = found
    assert set(mechanisms) - set(run(CALLS)) == {"TwoSidedGumbelChoice"}


@pytest.mark.peers("dp_recorder")
def test_the_recorder_flags_broken_mechanisms_only():
    spec = find_spec("dp_recorder")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    result = run(AUDIT, str(Path(spec.submodule_search_locations[0])))
    assert result["pairs"] > 80
    assert result["flagged"] == []
    assert result["ratios"]
    assert set(result["controls"].values()) == {"yes"}
