"""Accuracies of models: README.md, docs/index.md, docs/models.md, docs/report.md."""

from __future__ import annotations

from page_numbers.marks import (
    NAMES,
    TUNED_NOTE,
    Row,
    between,
    figures,
    markdown,
    number,
    records,
    short,
    sized,
    table,
    tuned,
)


@table
def league() -> str:
    """Accuracy at epsilon 1 and sizes, a row a dataset."""
    sizes = {"tree": "leaves of the tree", "list": "rules of the list"}
    peers = ("DP-EBM", "CART of depth 3, not private", "majority")
    rows = (
        (
            tuned(name, NAMES[name]),
            *(
                sized(_league(name)[key], kind)
                for own, size in sizes.items()
                for key, kind in ((own, own), (size, "leaves"))
            ),
            *(sized(_league(name)[key], key) for key in peers),
        )
        for name in list(NAMES)[:3]
    )
    head = ("ε = 1", "private tree", "leaves", "private list", "rules", "DP-EBM, δ = 1e-5")
    return markdown((*head, "CART of depth 3, not private", "majority"), rows) + TUNED_NOTE


def _league(name: str) -> Row:
    return next(row for row in records("league.csv") if (row["table"], row["epsilon"]) == (name, "1.0"))


def _at_epsilon_1(file: str, name: str, learner: str) -> Row:
    found = (row for row in records(file) if (row["table"], row["epsilon"]) == (name, "1.0"))
    return next(row for row in found if row["learner"] == learner)


@number
def league_error() -> str:
    """Return the largest standard error of a private tree in the table `league`."""
    return short(max(float(_league(name)["standard error"]) for name in list(NAMES)[:3]), 3)


@number
def league_cut_points() -> str:
    """Return accuracy and leaves of trees on Adult with the cut points of `hedgerow.datasets`."""
    row = _at_epsilon_1("readability.csv", "adult, cut points", "tree")
    return f"{sized(row['leaves'], 'leaves')} leaves and an accuracy of {sized(row['accuracy'], 'accuracy')}"


@number
def league_ranks() -> str:
    """Return the AUROC on Adult without cut points, of trees, a scorecard and DP-EBM."""
    ours, mixed, peer = (
        _at_epsilon_1("league_probabilities.csv", "adult", name) for name in ("tree", "tree, mixed", "DP-EBM")
    )
    card = _at_epsilon_1("readability.csv", "adult", "scorecard")
    tree, drawn, other, points = (short(row["AUROC"], 3) for row in (ours, mixed, peer, card))
    return f'{other} for DP-EBM, {tree} for the tree, {drawn} with `objective="mixed"`, and {points} for a scorecard'


@table
def three_models() -> str:
    """AUROC, log-loss and accuracy of three private models, and the sizes of hedgerow's models."""
    result = {(row["table"], row["epsilon"], row["learner"]): row for row in records("scorecards.csv")}
    rows = []
    for name in list(NAMES)[:3]:
        for epsilon in ("0.1", "1.0"):
            learners = ("scorecard", "tree of depth 3, mixed", "DP-EBM")
            card, tree, peer = (result[name, epsilon, learner] for learner in learners)
            of_card = " / ".join(sized(card[key], key) for key in ("attributes", "bins of a number"))
            cells = (_scores(card), of_card, _scores(tree), sized(tree["leaves"], "leaves"), _scores(peer))
            rows.append((tuned(name, NAMES[name]), f"{float(epsilon):g}", *cells))
    head = ("AUROC / log-loss / accuracy", "ε", "scorecard", "attributes / bins of a number")
    return markdown((*head, "tree, depth 3", "leaves", "DP-EBM, δ = 1e-5"), rows) + TUNED_NOTE


def _scores(row: Row) -> str:
    return " / ".join(short(row[score], 3) for score in ("AUROC", "log-loss", "accuracy"))


def _scorecard_ahead(score: str, sign: int = 1) -> list[bool]:
    """Return for each table and ε whether the scorecard is ahead of the tree."""
    result = {(row["table"], row["epsilon"], row["learner"]): float(row[score]) for row in records("scorecards.csv")}
    cases = [(name, epsilon) for name, epsilon, learner in result if learner == "scorecard"]
    return [sign * (result[*case, "scorecard"] - result[*case, "tree of depth 3, mixed"]) > 0 for case in cases]


@number
def scorecard_cases() -> str:
    """Tables times ε."""
    return str(len(_scorecard_ahead("AUROC")))


@number
def scorecard_ranks() -> str:
    """Cases with a higher AUROC than trees."""
    return str(sum(_scorecard_ahead("AUROC")))


@number
def scorecard_losses() -> str:
    """Cases with a lower log-loss than trees."""
    return str(sum(_scorecard_ahead("log-loss", -1)))


@number
def scorecard_accurate() -> str:
    """Cases with a higher accuracy than trees."""
    return str(sum(_scorecard_ahead("accuracy")))


@table
def aim() -> str:
    """AUROC and log-loss of scorecards compared with AIM at its best strength C for each score, with seconds."""
    result = {(row["table"], row["epsilon"], row["learner"]): row for row in records("aim.csv")}
    rows = []
    for name, epsilon, learner in result:
        if learner == "scorecard":
            ours = [result[name, epsilon, kind] for kind in ("scorecard", "scorecard with delta")]
            peers = [row for key, row in result.items() if key[:2] == (name, epsilon) and key[2].startswith("AIM")]
            best = max(peers, key=lambda row: float(row["AUROC"])), min(peers, key=lambda row: float(row["log-loss"]))
            pairs = [(our, our) for our in ours] + [best]
            cells = (f"{short(a['AUROC'], 3)} / {short(b['log-loss'], 3)}" for a, b in pairs)
            error = best[0]["standard error of AUROC"]
            told = [short(error, 3) if error else "", *(figures(float(our["seconds"])) for our in (ours[1], best[0]))]
            rows.append((name, f"{float(epsilon):g}", *cells, *told, best[0]["splits"]))
    head = ("table", "ε", "scorecard", "with δ", "AIM, best C", "std. error, AUROC", "seconds", "of AIM", "splits")
    return markdown(head, rows)


@number
def aim_ahead() -> str:
    """Return AIM's AUROC minus the scorecards' AUROC at epsilon 1 on each table."""
    return f"{_ahead('compas')} on COMPAS, {_ahead('german')} on German and {_ahead('adult')} on Adult"


def _ahead(name: str) -> str:
    result = [row for row in records("aim.csv") if (row["table"], row["epsilon"]) == (name, "1.0")]
    best = max(float(row["AUROC"]) for row in result if row["learner"].startswith("AIM"))
    ours = {row["learner"]: float(row["AUROC"]) for row in result}
    return " and ".join(short(best - ours[kind], 4) for kind in ("scorecard", "scorecard with delta"))


@table
def ways() -> str:
    """From a table to a signed report."""
    known = (
        "a list of ranges",
        "its publisher's Frictionless Table Schema",
        "a REDCap data dictionary",
        "what columns mean: dates, codes, several rows a patient",
        "the same: scales, items, weights",
        "the same: a spreadsheet's export",
    )
    keys = ("table", "columns", "rows", "known", "commands", "refused", "edited lines")
    rows = (
        dict(row, rows=f"{int(row['rows']):,}", known=said) for row, said in zip(records("way.csv"), known, strict=True)
    )
    head = ("table", "columns", "rows", "known of it", "commands", "refused", "schema lines edited")
    return markdown(head, (tuple(row[key] for key in keys) for row in rows))


@number
def way_commands() -> str:
    """Fewest and most commands from a table to a signed report."""
    return between((int(row["commands"]) for row in records("way.csv")), 0)


@table
def reasons() -> str:
    """Rows whose first reason code another draw changes, by table and epsilon."""
    result = {(row["table"], float(row["epsilon"])): row for row in records("reasons.csv")}
    rows = []
    for name in ("adult", "compas", "german"):
        lines = [result[name, epsilon] for epsilon in (0.5, 1.0, 2.0, 5.0)]
        shares = (f"{100 * float(row['another first reason']):.1f} %" for row in lines)
        rows.append((NAMES[name], f"{int(lines[0]['rows']):,}", *shares))
    return markdown(("another first reason", "rows", "ε = 0.5", "1", "2", "5"), rows)
