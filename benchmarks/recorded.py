"""Every private call under an independent auditor, dp-recorder.

[dp-recorder](https://github.com/ObliviousAI/dp-recorder) is the auditor of *Privacy in Theory, Bugs in Practice*
([Cebere et al. 2026](https://arxiv.org/abs/2602.17454)), which found violations in published libraries. It records a
call on a table, and replays it on a neighbouring table. In the replay, every sampler returns the recorded noisy
answers. A call without a violation then makes the same decisions and publishes the same values, and its private inputs
differ by at most the declared sensitivity.

    python recorded.py FOLDER

FOLDER has the source of dp-recorder, which is only read.

{recorded_pairs} pairs of neighbouring tables, {recorded_releases} releases and {recorded_draws} draws of noise were
compared. Differences and violations in the {recorded_call_count} calls with a guarantee: **{recorded_violations}**. The
declared sensitivity was reached, to 1 %, by {recorded_kinds_reached} kinds of releases. Of the mechanisms that were
broken on purpose, {recorded_flagged} were flagged.

**Comparisons.** Four places are wrapped from outside, with the noise that users get:

- *The gate*, through which every release goes: queries and mechanisms must be equal and in the same order. The distance
  of the private inputs is computed from the definition of each norm, not by hedgerow's methods.
- *OpenDP's measurements*: OpenDP's privacy map at the measured distance gives the loss of each draw, with the scale
  that the noise really has. For a choice by Gumbel noise, the loss is the largest log-ratio of an option. The choices
  of a draw of a model or of quantiles are also added up along the recorded path.
- *K-norm noise*, by the parameter of its geometric draws, and SSRL's and EXPRIL's unproven mechanisms as a whole.

At the end, the losses of all draws of a run are added up and compared with the charged ε (and δ). The published model,
answer or evaluation, its charges, and all warnings must be equal in both runs.

The tables have 0 to 120 rows with four attributes, three classes or a number, missing values, values at and outside the
bounds, and rare categories. Wide tables have 40 attributes. dp-recorder adds or removes a row; for persons, all rows of
a person are added or removed. A person has up to six rows, and at most three are counted. Weights, costs, ordered
classes and budgets that add up ρ have calls of their own. The secret key that selects the rows of a person is the same
in both runs.

{recorded_calls}

*Sensitivity reached* counts the kinds of releases of a call whose largest distance is at least 99 % of the declared
sensitivity. *Largest loss* is the loss of all draws of a run, relative to the charged ε. It is below 1 if a row cannot
change all releases as much as possible at the same time, or if these tables have no such row. By mechanism:

{recorded_mechanisms}

*Smallest share* is the smallest of the largest distances, relative to the declared sensitivity. The sensitivity of a
Gini score is a limit for many rows of one class. Residuals of scorecards reach theirs only if a predicted probability
is 0 or 1. Peeling with δ is charged π/2 times its ρ, so its loss is at most 2/π of the allowed loss.

Mechanisms as published, whose cards state that they have no guarantee. dp-recorder flags EXPRIL's ratios on every pair,
because their denominators are exact. It does not flag SSRL's mechanisms: the distances are within the declared
bounds, and the error is in the proof for the smallest of several noisy scores.

{recorded_published}

**Controls.** Each line breaks one place of hedgerow on purpose; *pairs* is the number of pairs until it was flagged.
Noise has half of its scale, or twice its weight, if nothing else is stated.

{recorded_controls}

**Limits.** The samplers are trusted: a wrong distribution with the right parameters is found by
[repeated fits](epsilon.py) and by the tests of the noise, not by a replay. A replay finds a sensitivity that is too
small only if a pair reaches it, and a branch only if a pair is on both of its sides. dp-recorder does not report calls
that are missing at the end of a replay; the script does. Its distributional audit is not used. A run takes about ten
minutes of one idle core; calls that the file already has are kept. `--pairs` is the number of all pairs.
"""

import argparse
import time

import numpy as np
from measure import kept, report
from recorder import load, wrapped
from recorder_audit import REACHED, Result, audit_pairs
from recorder_calls import CALLS, UNPROVEN
from recorder_controls import CONTROLS

NEIGHBOURS = 8  # of a table
COLUMNS = [
    *(
        "call",
        "guarantee",
        "pairs",
        "query",
        "mechanism",
        "releases",
        "declared",
        "largest",
        "reached",
        "loss",
        "draws",
    ),
    *("charged", "differences", "violations", "seconds"),
]


def audited(recorder, call, seed, tables, neighbours=NEIGHBOURS):
    """Return the result of a call on this number of tables with neighbours each."""
    rng, result = np.random.default_rng(seed), Result()
    with wrapped(recorder):
        for _ in range(tables):
            table, others = call.pairs(recorder, rng, neighbours)
            audit_pairs(recorder, call, table, others, result)
    return result


def reached(share):
    """Return whether a distance reached the declared sensitivity, or the largest share of it that was measured."""
    if share > 1 + 1e-9:
        return "exceeded"
    return "yes" if share >= REACHED else f"{share:.3f}"


def lines(call, result, seconds):
    """Return a line for each kind of release of a call; a line counts the pairs and violations of the whole call."""
    common = {
        "draws": result.draws, "charged": f"{result.loss:.4f}", "differences": sum(result.differences.values()),
        "violations": sum(result.violations.values()), "seconds": f"{seconds:.0f}",
    }  # fmt: skip
    for kind in result.kinds.values():
        yield {
            "call": call.name, "guarantee": "yes" if call.has_guarantee else "no", "pairs": result.pairs,
            "query": kind.query, "mechanism": kind.mechanism, "releases": kind.releases,
            "declared": f"{kind.declared:g}", "largest": f"{kind.largest:g}",
            "reached": reached(kind.share), "loss": f"{kind.loss:.4f}", **common,
        }  # fmt: skip


def control(recorder, item, tables=40):
    """Return the line of a broken mechanism: the number of pairs until it was flagged, and the check that did it."""
    rng, result = np.random.default_rng(1), Result()
    with item.broken(), wrapped(recorder):
        for _ in range(tables):
            table, others = item.call.pairs(recorder, rng, NEIGHBOURS)
            for other in others:
                audit_pairs(recorder, item.call, table, [other], result)
                if result.is_flagged:
                    break
            if result.is_flagged:
                break
    found = [*(["control flow"] if result.differences else []), *(["distance or loss"] if result.violations else [])]
    return {
        "place": item.name, "break": item.kind, "call": item.call.name, "pairs": result.pairs,
        "flagged": "yes" if result.is_flagged else "no", "by": " and ".join(found),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="a folder with the source of dp-recorder")
    parser.add_argument("--pairs", type=int, default=10_000, help="neighbouring pairs of all calls together")
    arguments = parser.parse_args()
    recorder = load(arguments.folder)
    calls = [*CALLS, *UNPROVEN]
    per_share = arguments.pairs / sum(call.share for call in calls)
    rows = kept("recorded", COLUMNS)
    done = {row["call"] for row in rows}
    for seed, call in enumerate(calls):
        if call.name in done:
            continue
        start = time.process_time()
        tables = -int(-per_share * call.share // NEIGHBOURS)
        result = audited(recorder, call, seed, tables)
        rows += lines(call, result, time.process_time() - start)
        print(
            call.name,
            f"{time.process_time() - start:.0f} s",
            dict(result.differences),
            dict(result.violations),
            flush=True,
        )
        report("recorded", rows)
    report("recorded_controls", [control(recorder, item) for item in CONTROLS])


if __name__ == "__main__":
    main()
