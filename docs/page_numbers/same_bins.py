"""Scorecards compared with five private learners on the same bins: benchmarks/results/same_bins.csv."""

from __future__ import annotations

from collections.abc import Iterator

from page_numbers.marks import Row, figures, markdown, number, records, short, table

OURS, TREE, OPEN = "scorecard", "tree of depth 3, mixed", "logistic, not private"
PEERS = ("S-BDT", "DP-TR-Newton EBM", "PrivaTree", "DP-EBM", "AIM")
AUROC, LOSS = "AUROC", "log-loss"
LESS, ERROR = "scorecard less it", "standard error of this"

Key = tuple[str, str]


def _found(score: str) -> dict[tuple[str, str, str], Row]:
    rows = records("same_bins.csv")
    return {(row["table"], row["epsilon"], row["learner"]): row for row in rows if row["score"] == score}


def _pairs() -> list[Key]:
    """Return each table and ε."""
    return [(name, epsilon) for name, epsilon, learner in _found(AUROC) if learner == OURS]


def _lead(row: Row) -> float:
    """Return how far the scorecard is ahead of a peer, below 0 if it is behind."""
    return float(row[LESS]) * (1 if row["score"] == AUROC else -1)


def _best(score: str) -> dict[Key, Row]:
    """Return the best peer of the scorecard among the peers with two splits or more."""
    result = _found(score)
    rows = {pair: [result[*pair, peer] for peer in PEERS if (*pair, peer) in result] for pair in _pairs()}
    return {pair: min((row for row in peers if row[ERROR]), key=_lead) for pair, peers in rows.items()}


def _behind(score: str) -> Iterator[tuple[Key, Row]]:
    """Yield the cases in which the best peer is ahead by more than a standard error."""
    return ((pair, row) for pair, row in _best(score).items() if _lead(row) < -float(row[ERROR]))


@table
def same_bins() -> str:
    """AUROC and log-loss of scorecards, and of the best peer, by table and ε."""
    ours = [_found(score) for score in (AUROC, LOSS)]
    best = [_best(score) for score in (AUROC, LOSS)]
    rows = []
    for name, epsilon in _pairs():
        cells = [name, f"{float(epsilon):g}"]
        for result, peers in zip(ours, best, strict=True):
            peer = peers[name, epsilon]
            less = f"{short(peer[LESS], 4)} ± {short(peer[ERROR], 4)}"
            reached = (short(result[name, epsilon, OURS]["reached"], 3), short(peer["reached"], 3))
            cells += [reached[0], peer["learner"], reached[1], less]
        rows.append(cells)
    head = ["table", "ε"]
    for score in (AUROC, LOSS):
        head += [f"{score} of the scorecard", "best peer", "its", "difference"]
    return markdown(head, rows, (0, 3, 7))


@table
def same_bins_learners() -> str:
    """AUROC and log-loss of every learner by table and ε, each by its best setting."""
    areas, losses = _found(AUROC), _found(LOSS)
    learners = (OURS, TREE, *PEERS)
    rows = []
    for name, epsilon in _pairs():
        keys = [(name, epsilon, learner) for learner in learners] + [(name, "", OPEN)]
        cells = (
            f"{short(areas[key]['reached'], 3)} / {short(losses[key]['reached'], 3)}" if key in areas else "–"
            for key in keys
        )
        rows.append((name, f"{float(epsilon):g}", *cells))
    return markdown(("AUROC / log-loss", "ε", OURS, "tree", *PEERS, OPEN), rows)


@table
def same_bins_seconds() -> str:
    """Seconds of the processor of a fit at ε = 1 with the setting of the best AUROC, and splits."""
    result = _found(AUROC)
    rows = []
    for name in dict.fromkeys(name for name, _ in _pairs()):
        fits = [result.get((name, "1.0", learner)) for learner in (OURS, TREE, *PEERS)]
        rows.append((name, *(f"{figures(float(fit['seconds']))} ({fit['splits']})" if fit else "–" for fit in fits)))
    return markdown(("seconds (splits)", OURS, "tree", *PEERS), rows)


@number
def same_bins_told() -> str:
    """Return a sentence on the cases in which a peer is ahead by more than a standard error."""
    return f"In AUROC {_told(AUROC)}\n\nIn log-loss {_told(LOSS)}"


def _told(score: str) -> str:
    behind: dict[str, list[str]] = {}
    for name, epsilon in dict(_behind(score)):
        behind.setdefault(name, []).append(f"{float(epsilon):g}")
    if not behind:
        return f"no peer is ahead of the scorecard by more than a standard error in any of {len(_pairs())} cases."
    cases = "; ".join(f"{name} at ε = {', '.join(epsilons)}" for name, epsilons in behind.items())
    count = sum(map(len, behind.values()))
    return f"the best peer is ahead by more than a standard error in {count} of {len(_pairs())} cases: {cases}."


@number
def same_bins_cases() -> str:
    """Return of how many tables and ε a peer is ahead in AUROC and in log-loss, and where."""
    areas, losses = (list(_behind(score)) for score in (AUROC, LOSS))
    return f"{len(areas)} of {len(_pairs())} cases in AUROC and {len(losses)} in log-loss"
