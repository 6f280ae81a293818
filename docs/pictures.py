"""The pictures of the home page and the README: `python docs/pictures.py` makes them anew, with other noise each time.

One is a private tree with its card; three are in steps, a GIF each: from a table to a model with its card, what an
attacker learns with privacy and without, and a curator's ledger. The tree has default settings; its prior and
its loss were chosen on other tables than Adult.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from textwrap import fill

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.privacy.card import SOFTWARE

FOLDER = Path(__file__).parent / "models"
GREEN, RED, GREY = "#4a7c59", "#b5452c", "0.85"
SECONDS = 4  # a step is shown for so long
SIZE = (10.5, 5.2)  # inches
WIDEST = 100  # characters of a line of the schema
DATA = hr.datasets.load("adult")
SHOWN = ["age", "workclass", "education-num", "occupation", "hours-per-week"]  # columns that fit a picture
PATIENTS = hr.datasets.load("breast_cancer")  # of the attacks, which are exact for few rows only


def main() -> None:
    """Draw all pictures into docs/models."""
    mpl.use("Agg")
    tree = hr.PrivateTreeClassifier(1.0, schema=DATA.schema)
    tree.fit(DATA.frame, DATA.labels)
    draw_tree_and_card(tree)
    save("table-to-card.gif", table_to_card(tree))
    save("attacker.gif", attacker())
    save("ledger.gif", ledger())


def draw_tree_and_card(tree: hr.PrivateTreeClassifier) -> None:
    """Draw a tree above its card."""
    axes = plotted(tree)
    lines = str(tree.privacy_).partition("\nnote")[0].splitlines()
    card = "\n".join(fill(line, 130, subsequent_indent=" " * 12, drop_whitespace=True) for line in lines)
    axes.text(0.0, 0.02, card, family="monospace", fontsize=8.5, va="top", transform=axes.transAxes)
    version = {"Software": tree.privacy_.software.words}  # tests compare it with the version of the package
    path = FOLDER / "tree-and-card.png"
    axes.figure.savefig(path, dpi=120, bbox_inches="tight", facecolor="white", metadata=version)


def plotted(tree: hr.PrivateTreeClassifier) -> Axes:
    """Draw a tree without the guarantee above it: the card has it."""
    axes = tree.plot()
    axes.set_title("")
    return axes


def shown(tree: hr.PrivateTreeClassifier, axes: Axes) -> None:
    """Show the picture of a tree in the axes of a step."""
    written = BytesIO()
    plotted(tree).figure.savefig(written, dpi=160, bbox_inches="tight", facecolor="white")
    axes.imshow(Image.open(written))


def step(title: str, draw: Callable[[Axes], object], *, blank: bool = False) -> Image.Image:
    """Draw a step with its title."""
    figure, axes = plt.subplots(figsize=SIZE)
    figure.subplots_adjust(left=0.03 if blank else 0.12, right=0.97, top=0.88, bottom=0.03 if blank else 0.14)
    if blank:
        axes.axis("off")
    draw(axes)
    figure.suptitle(title, x=0.03, y=0.96, ha="left", fontsize=15, fontweight="bold")
    written = BytesIO()
    figure.set_size_inches(*SIZE)
    figure.savefig(written, dpi=100, facecolor="white")
    plt.close(figure)
    return Image.open(written).convert("P", palette=Image.Palette.ADAPTIVE, colors=48)


def save(name: str, steps: list[Image.Image]) -> None:
    """Write steps as a GIF that goes on for ever."""
    first, *others = steps
    options = {"duration": 1000 * SECONDS, "loop": 0, "optimize": True, "comment": SOFTWARE.words.encode()}
    first.save(FOLDER / name, save_all=True, append_images=others, **options)


def lines(text: str, size: float = 11) -> Callable[[Axes], object]:
    """Return what writes lines of text."""
    return lambda axes: axes.text(0, 1, text, family="monospace", fontsize=size, va="top", transform=axes.transAxes)


def table_to_card(tree: hr.PrivateTreeClassifier) -> list[Image.Image]:
    """Return the steps from a table to a model with its card."""
    first = DATA.frame[SHOWN].head(9).assign(income=DATA.labels)

    def rows(axes: Axes) -> None:
        cells = axes.table(first.astype(str).to_numpy(), colLabels=list(first), loc="center", cellLoc="right")
        cells.auto_set_font_size(False)
        cells.set_fontsize(12)
        cells.scale(1, 2)

    listed = str(DATA.schema).splitlines()
    declared = "\n".join(line if len(line) <= WIDEST else f"{line[:WIDEST]} …" for line in listed)
    spent = str(tree.privacy_).partition("\nnote")[0].splitlines()
    card = "\n".join(fill(line, 105, subsequent_indent=" " * 12) for line in spent)
    return [
        step("1. A sensitive table, which stays confidential", rows, blank=True),
        step("2. Its schema is public: bounds and categories", lines(declared, 10.5), blank=True),
        step("3. A tree drawn for ε = 1, with noisy class shares", partial(shown, tree), blank=True),
        step("4. Published: the tree with its privacy card", lines(card, 10), blank=True),
    ]


def attacker() -> list[Image.Image]:
    """Return the steps of an attack on a full-grown tree, and of the best attack on a private tree."""
    train, labels = PATIENTS.frame.iloc[:400], PATIENTS.labels.iloc[:400]
    grown = DecisionTreeClassifier(random_state=0).fit(train, labels)
    leaves = hr.audit.leaf_risk(grown, (train, labels), threshold=10)
    attack = hr.audit.lira(DecisionTreeClassifier(), PATIENTS.frame, PATIENTS.labels, repeats=32, random_state=0)
    private = hr.PrivateTreeClassifier(1.0, schema=PATIENTS.schema)
    exact = hr.audit.exact_membership(private, PATIENTS.frame, PATIENTS.labels)
    order = np.argsort(exact.advantage)
    rates = np.logspace(-3, 0, 100)

    def sizes(axes: Axes) -> None:
        table = leaves.table.sort_values("rows")
        axes.barh(range(len(table)), table["rows"], color=np.where(table["small"], RED, GREEN))
        axes.axvline(10, color="black", linestyle="--", linewidth=1)
        axes.set(xscale="log", xlabel="patients in a leaf (dashed: the usual threshold of 10)", yticks=[])

    def curves(axes: Axes, drawn: dict[str, tuple[np.ndarray, str]]) -> None:
        for name, (values, color) in drawn.items():
            axes.plot(rates, values, color=color, label=name, linewidth=2)
        axes.plot(rates, rates, color="black", linestyle="--", linewidth=1, label="guessing")
        axes.set(xscale="log", yscale="log", xlabel="false positive rate", ylabel="true positive rate", ylim=(1e-3, 1))
        axes.legend(loc="upper left", frameon=False)

    worst, median = (np.array([exact.trade_off(row).tpr_at(rate) for rate in rates]) for row in (order[-1], order[284]))
    result = np.array([attack.tpr_at(rate) for rate in rates])
    small = f"1. A full-grown tree: {len(leaves.small)} of {len(leaves.table)} leaves are small"
    return [
        step(small, sizes),
        step(
            "2. An attack by refits finds some training rows",
            lambda axes: curves(axes, {"all patients": (result, RED)}),
        ),
        step(
            "3. A private tree, ε = 1: the best possible attack",
            lambda axes: curves(axes, {"the patient most at risk": (worst, RED), "the median": (median, GREEN)}),
        ),
    ]


def ledger() -> list[Image.Image]:
    """Return the steps of a curator's ledger, of a service that runs meanwhile."""
    command = [sys.executable, "-m", "hedgerow", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        ready = json.loads(serving.stdout.readline())
        curator = hr.connect(ready["url"], key=ready["analyst_key"])
        steps, entries = [], []
        questions = [("a tree", 3.0, hr.PrivateTreeClassifier), ("a scorecard", 5.0, hr.PrivateScorecardClassifier)]
        for what, epsilon, learner in [*questions, ("another tree", 4.0, hr.PrivateTreeClassifier)]:
            try:
                curator.fit(learner(epsilon=epsilon))
                entries.append((f"{what}, ε = {epsilon:g}: answered", epsilon, GREEN))
            except hr.errors.ServiceError:
                entries.append((f"{what}, ε = {epsilon:g}: refused, nothing is charged", 0.0, RED))
            spent = float(curator.budget["epsilon"]["spent"])
            steps.append(
                step(f"{len(entries)}. An analyst asks for {what}", partial(bars, entries=entries, spent=spent))
            )
        curator.close()
        serving.terminate()
    return steps


def bars(axes: Axes, entries: list[tuple[str, float, str]], spent: float, cap: float = 10) -> None:
    """Draw the charges to a cap, entry by entry."""
    axes.barh(-0.2, cap, height=0.5, color=GREY)
    start = 0.0
    for number, (text, epsilon, color) in enumerate(entries):
        axes.barh(-0.2, epsilon, left=start, height=0.5, color=color, edgecolor="white")
        start += epsilon
        axes.text(0, -0.8 - 0.35 * number, text, color=color, fontsize=12, va="center")
    assert start == spent
    axes.set(xlim=(0, cap), ylim=(-2, 0.2), xticks=[], yticks=[])
    axes.text(cap, -0.55, f"ε spent: {spent:g} of {cap:g}", ha="right", va="center", fontsize=12)
    axes.spines[:].set_visible(False)


if __name__ == "__main__":
    main()
