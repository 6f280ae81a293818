"""The study of the label-only attack on raw values: docs/studies/label-only.md."""

from __future__ import annotations

from page_numbers.marks import NAMES, Row, between, markdown, number, records, short, table

_ATTACKS, _MODELS = "docs/studies/label-only/attacks.csv", "docs/studies/label-only/models.csv"
_NO_QUERIES, _QUERIES = ("forest", "label"), ("bits", "bins", "noise", "walk", "file")
_BY_ROW = ("label, offline", "bins, offline", "noise, offline", "walk, offline", "file, offline")
_PRIVATE = ("smooth-laplace, ε = 10", "private tree, ε = 10", "private tree, ε = 1")
_OVERFITTED = ("CART, fully grown", "random forest")
_SELECTED = ("optimal tree", "GreedyRL", "private tree, ε = 10", "private tree, ε = 1", *_OVERFITTED)


def _results() -> dict[tuple[str, str], dict[str, Row]]:
    result: dict[tuple[str, str], dict[str, Row]] = {}
    for row in records(_ATTACKS):
        result.setdefault((row["table"], row["model"]), {})[row["attack"]] = row
    return result


def _lines(names: tuple[str, ...], models: tuple[str, ...] | None = None) -> list[tuple[str, ...]]:
    lines = list[tuple[str, ...]]()
    for (data, model), by_attack in _results().items():
        if models is not None and model not in models:
            continue
        present = [by_attack[name] for name in names if name in by_attack]
        error = max(float(row["auc se"]) for row in present)
        cells = (short(by_attack[name]["auc"], 3) if name in by_attack else "–" for name in names)
        lines.append((NAMES[data], model, *cells, short(error, 3)))
    return lines


@table
def label_only_thresholds() -> str:
    """Area under the curve of each attack that compares all rows with one threshold."""
    heads = (
        "forest",
        "label",
        "bits flipped",
        "other bins",
        "noise",
        "walk",
        "exact distance",
        "learned",
    )
    head = ("table", "model", *heads, "largest se")
    return markdown(head, _lines((*_NO_QUERIES, *_QUERIES, "learned"), _SELECTED), text=(0, 1))


@table
def label_only_by_row() -> str:
    """Area under the curve of each attack that compares every row with shadow models."""
    heads = ("label", "other bins", "noise", "walk", "exact distance", "probability", "label, online", "largest se")
    names = (*_BY_ROW, "probability, offline", "label, online")
    return markdown(("table", "model", *heads), _lines(names, _SELECTED), text=(0, 1))


@table
def label_only_rates() -> str:
    """Show the true positive rates of three attacks by row, with their intervals."""
    names = ("label, offline", "walk, offline", "probability, offline")
    lines = list[tuple[str, ...]]()
    for (data, model), by_attack in _results().items():
        if model in ("GreedyRL", _PRIVATE[-1], *_OVERFITTED):
            rates = (_rate(by_attack[name], rate) for rate in ("0.01", "0.1") for name in names)
            lines.append((NAMES[data], model, *rates))
    heads = (f"{name}, {rate}" for rate in (".01", ".1") for name in ("label", "walk", "probability"))
    return markdown(("table", "model", *heads), lines, text=(0, 1))


def _rate(row: Row, rate: str) -> str:
    low, high = (short(row[f"tpr {rate} {end}"], 3) for end in ("low", "high"))
    return f"{short(row[f'tpr {rate}'], 3)} [{low}, {high}]"


@table
def label_only_models() -> str:
    """Accuracy of each model, exactness of the walk, queries, and the bound on all attacks."""
    lines = list[tuple[str, ...]]()
    results = _results()
    for row in (row for row in records(_MODELS) if row["model"] in _SELECTED):
        by_attack = results[row["table"], row["model"]]
        right = (short(row[key], 3) for key in ("right inside", "right outside"))
        graded = (by_attack[name]["auc of right rows"] for name in ("noise", "walk"))
        best = max(2 * float(line["accuracy"]) - 1 for line in by_attack.values() if line["accuracy"])
        exact = row["exact advantage"]
        lines.append((
            NAMES[row["table"]], row["model"], *right, short(row["queries, walk"], 0),
            short(row["walk is exact"], 3) if row["walk is exact"] else "–", *(short(item, 3) for item in graded),
            short(best, 3), short(exact, 3) if exact else "–",
        ))  # fmt: skip
    head = ("table", "model", "accuracy inside", "outside", "queries of the walk", "walk is exact",
            "AUC of right rows, noise", "walk", "best advantage", "exact bound")  # fmt: skip
    return markdown(head, lines, text=(0, 1))


def _auc(model: str, attack: str, data: str = "german") -> float:
    return float(_results()[data, model][attack]["auc"])


@number
def label_only_control() -> str:
    """Areas of the attacks on the tree that is right on all its rows: label, walk, both by row."""
    names = ("label", "walk", "label, offline", "walk, offline")
    label, walk, by_label, by_walk = (short(_auc("CART, fully grown", name), 3) for name in names)
    return f"{by_label} by the label alone and {by_walk} by the walk (with one threshold {label} and {walk})"


@number
def label_only_forest() -> str:
    """Areas of the attacks on the random forest."""
    by_label, by_walk, by_probability = (
        short(_auc("random forest", name), 3) for name in ("label, offline", "walk, offline", "probability, offline")
    )
    return f"from {by_label} to {by_walk}, and probabilities to {by_probability}"


@number
def label_only_private() -> str:
    """Range of the areas of all label-only attacks on private models, by a threshold and by row."""
    private = [by_attack for (_, model), by_attack in _results().items() if model in _PRIVATE]

    def areas(names: tuple[str, ...]) -> str:
        return between((float(of[name]["auc"]) for of in private for name in names if name in of), 3)

    by_threshold, by_row = areas((*_NO_QUERIES[1:], *_QUERIES)), areas((*_BY_ROW, "label, online"))
    return f"{by_threshold} with a threshold for all rows, and {by_row} with shadow models"


@number
def label_only_gain() -> str:
    """Largest gain of the walk over the label alone, both by row, on trees and lists."""
    gains = {
        (data, model): float(by_attack["walk, offline"]["auc"]) - float(by_attack["label, offline"]["auc"])
        for (data, model), by_attack in _results().items()
        if model != "random forest"
    }
    return between(gains.values(), 3)


@number
def label_only_example() -> str:
    """Areas of the distance and of the label in the smallest example, over all training sets."""
    (row,) = records("docs/studies/label-only/example.csv")
    right, whole, label = (short(row[key], 2) for key in ("auc of right rows", "auc", "auc of the label"))
    return f"{right} for correctly classified rows and {whole} for all, and {label} for the label alone"


@number
def label_only_learned() -> str:
    """Range of the gains of the learned attack over the forest on prediction and label, on fully grown trees."""
    own = [by_attack for (_, model), by_attack in _results().items() if model == _OVERFITTED[0]]
    return between((float(by_attack["learned"]["auc"]) - float(by_attack["forest"]["auc"]) for by_attack in own), 3)
