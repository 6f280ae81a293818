"""Claimed and measured ε.

Every mechanism was fitted to small tables at ε = 1 and 0.1, with the noise that users get: {fits_of_ours} fits, 4,000
on each of two tables on which the loss was expected to be largest. Including the learners below there are {fits_of_all}
fits, and all {lines_of_all} lines hold simultaneously with 95 % confidence. No lower bound exceeds a claim of hedgerow.
At ε = 0.1 each row occurs ten times, so the claim is 1: with single rows, this number of fits could not refute
anything. A violation that these tables do not show would be missed.

dp-recorder [audited every call](recorded.py), too.

{claimed}

*A label* compares the prediction for the added row; all other lines compare whole models. Learners with δ claim δ =
0.01, and 0.001 at ε = 0.1. The series of ten lists is accounted in zCDP.

Deliberately faulty learners that lose more than they claim, all detected at a claim of 1:

{controls}

Other libraries at their own claims, diffprivlib 0.6.6 and interpret 0.7.8 (δ = 10⁻⁵); bold numbers refute the claim:

{peers}

Both libraries warn that missing bounds are taken from the rows. diffprivlib's forest assigns rows to trees by their
positions, so adding a row moves further rows from tree to tree. Replacing a row changes two counts of a tree, but the
noise is calibrated to a single count. interpret's classifier takes its classes from the labels and has no parameter for
them.

`--runs` is the number of fits on each of two tables, {usual_runs} by default, and a quarter of it for a second pair.
The script takes half an hour of one idle core; a million fits on each table would take two hours per line.

Lines that the file has with the same number of runs are kept, so the script can be stopped and continued. diffprivlib
0.6.6 cannot be imported with scikit-learn 1.9: DIFFPRIVLIB_PYTHON names an interpreter in which it can
(`python -m venv v && v/bin/pip install diffprivlib 'scikit-learn<1.6'`); interpret is taken from the current
environment, or skipped (`pip install interpret-core`). Peers that cannot run are skipped, and the reason is printed.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import expm1
from pathlib import Path

import numpy as np
import pandas as pd
from epsilon_learners import APPROXIMATE, CONTROLS, DELTA, DRAWS, PAIRS, PURE, TURN, draws
from epsilon_peer import DELTA as PEER_DELTA
from epsilon_peer import LEARNERS as PEERS
from measure import RESULTS

from hedgerow.audit import empirical_epsilon
from hedgerow.privacy.zcdp import drawn_rho, epsilon_at

FILE = RESULTS / "epsilon.csv"
PEER = Path(__file__).with_name("epsilon_peer.py")
PYTHONS = {"diffprivlib": os.environ.get("DIFFPRIVLIB_PYTHON", sys.executable)}
QUARTER = Fraction(1, 4)
ALARM = 0.05 / 120
"""The chance that a line exceeds the truth: with up to 120 lines, all hold together with 95 %."""
KEYS = ["learner", "tables", "rows apart", "epsilon"]


@dataclass(frozen=True, eq=False)
class Case:
    """A line of the table.

    Attributes
    ----------
    kind : str
        "hedgerow", "control" (must be caught) or "peer".
    learner, tables : str
        Their names.
    epsilon, delta : float
        The claim of the learner for one row.
    audit : callable
        Takes keywords of `empirical_epsilon`, and audits.
    copies : int
        How many rows the tables are apart.
    share : Fraction
        Of the runs asked for.
    claim : float or None
        The ε that is allowed on these tables, if it differs from copies·epsilon.
    """

    kind: str
    learner: str
    tables: str
    epsilon: float
    audit: Callable
    delta: float = 0.0
    copies: int = 1
    share: Fraction = Fraction(1)
    claim: float | None = None

    @property
    def allowed(self):
        """ε and δ on tables that are `copies` rows apart (Dwork and Roth 2014, Theorem 2.2; Vadhan 2017, Lemma 2.2)."""
        epsilon = self.claim or self.copies * self.epsilon
        return epsilon, self.delta * expm1(self.copies * self.epsilon) / expm1(self.epsilon)

    @property
    def key(self):
        """The fields that identify a line."""
        return self.learner, self.tables, self.copies, self.epsilon


def cases():
    """Yield every line of the table."""
    for learner, (make, best, other) in PURE.items():
        yield _ours("hedgerow", learner, make, best, 1.0)
        yield _ours("hedgerow", learner, make, other, 1.0, share=QUARTER)
        yield _ours("hedgerow", learner, make, best, 0.1, copies=10)
        yield _ours("hedgerow", learner, make, other, 0.1, share=QUARTER)
    for learner, (make, tables) in APPROXIMATE.items():
        yield _ours("hedgerow", learner, make, tables, 1.0, delta=DELTA)
        yield _ours("hedgerow", learner, make, tables, 0.1, delta=DELTA * 0.1, copies=10)
    for epsilon in (1.0, 0.1):
        rho = DRAWS * drawn_rho(Fraction(epsilon), Fraction(epsilon))
        claim = float(epsilon_at(rho, Fraction(DELTA)))
        options = {"delta": DELTA, "claim": claim, "share": QUARTER}
        yield _ours("hedgerow", "ten exact lists, by zCDP", draws, TURN, epsilon, **options)
    for learner, (make, tables, share) in CONTROLS.items():
        yield _ours("control", learner, make, tables, 1.0, share=Fraction(share))
    yield from _peers()


def _ours(kind, learner, make, tables, epsilon, *, copies=1, **options):
    pair = PAIRS[tables].times(copies)

    def audit(**settings):
        return empirical_epsilon(make(epsilon, pair), *pair.sides, **settings)

    return Case(kind, learner, tables, epsilon, audit, copies=copies, **options)


def _peers():
    more, far, other = "a row more in a bin of two classes", "a row far out", "a row far out, of another class"
    for learner, (package, *_) in PEERS.items():
        delta = PEER_DELTA if package == "interpret-core" else 0.0
        pairs = [more, other] if package == "diffprivlib" else [more, far, other]
        pairs += ["a row replaced"] * (learner == "diffprivlib, forest")
        share = Fraction(1) if "tree" in learner else QUARTER  # the others take longer
        for tables in pairs:
            for epsilon in (1.0, 0.1):
                yield Case("peer", learner, tables, epsilon, _replay(learner, tables, epsilon), delta, share=share)


def _replay(learner, tables, epsilon):
    """Return an audit of outcomes that the peer's own interpreter draws."""

    def audit(*, runs, **settings):
        python = PYTHONS.get(PEERS[learner][0], sys.executable)
        asked = [python, PEER, learner, tables, str(epsilon), str(runs)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LookupError((done.stderr.strip() or "it ended without a word").splitlines()[-1])
        left = [iter(outcomes) for outcomes in json.loads(done.stdout)["sides"]]
        sides = [(np.array([[side]]), np.array([0])) for side in (0, 1)]

        def outcome(X, y):  # noqa: ARG001
            result = next(left[int(X[0, 0])])
            return np.array(result) if isinstance(result, list) else result

        return empirical_epsilon(outcome, *sides, runs=runs, **settings)

    return audit


def line(case, runs):
    """Return one line of the table."""
    claim, delta = case.allowed
    result = case.audit(runs=runs, claim=claim, delta=delta, confidence=1 - ALARM)
    return {
        "kind": case.kind,
        "learner": case.learner,
        "tables": case.tables,
        "rows apart": case.copies,
        "epsilon": case.epsilon,
        "delta": case.delta,
        "claimed": f"{claim:.4g}",
        "found": f"{result.epsilon:.4f}",
        "refuted": result.refutes,
        "runs": runs,
        "likely": result.likely,
        "unlikely": result.unlikely,
        "tested": result.tested,
        "power, 30 % wrong": f"{result.power(1.3):.3f}",
        "power, 100 % wrong": f"{result.power(2.0):.3f}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="fits on each of two tables (some lines take a quarter)")
    parser.add_argument("--only", nargs="*", help="learners whose name has one of these words")
    given = parser.parse_args()
    every = list(cases())
    old = pd.read_csv(FILE).to_dict("records") if FILE.exists() else []
    done = {tuple(item[key] for key in KEYS): item for item in old}
    for case in every:
        runs = int(given.runs * case.share)
        wanted = given.only is None or any(word in case.learner for word in given.only)
        if not wanted or (case.key in done and done[case.key]["runs"] >= runs):
            continue
        try:
            done[case.key] = line(case, runs)
        except LookupError as error:
            print(f"skipped: {case.learner}: {error}", file=sys.stderr, flush=True)
            continue
        print(*done[case.key].values(), sep="  ", flush=True)
        pd.DataFrame([done[item.key] for item in every if item.key in done]).to_csv(
            FILE, index=False, lineterminator="\n"
        )
    check(done.values())


def check(lines):
    """Report the lines that violate an expectation."""
    for item in lines:
        if (item["kind"] == "hedgerow" and item["refuted"]) or (item["kind"] == "control" and not item["refuted"]):
            print(f"NOT AS EXPECTED: {item}", flush=True)


if __name__ == "__main__":
    main()
