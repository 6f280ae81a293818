"""The picture of the home page: a private tree with its card. `python docs/picture.py` draws another tree each time."""

from pathlib import Path
from textwrap import fill

import matplotlib as mpl

import hedgerow as hr

FILE = Path(__file__).parent / "models" / "tree-and-card.png"


def main() -> None:
    """Learn a tree from the breast cancer data at epsilon 1, and draw it above its card."""
    mpl.use("Agg")
    data = hr.datasets.load("breast_cancer")
    tree = hr.PrivateTreeClassifier(1.0, max_depth=2, release_counts=True, schema=data.schema)
    axes = tree.fit(data.frame, data.labels).plot()
    axes.set_title("")
    axes.figure.set_size_inches(6.4, 3.7)  # narrow, so that it can be read on a telephone
    for text in axes.texts:
        text.set_fontsize(0.9 * text.get_fontsize())
    lines = str(tree.privacy_).partition("\nnote")[0].splitlines()
    card = "\n".join(fill(line, 76, subsequent_indent=" " * 12, drop_whitespace=True) for line in lines)
    axes.text(0.0, 0.02, card, family="monospace", fontsize=8.5, va="top", transform=axes.transAxes)
    axes.figure.savefig(FILE, dpi=160, bbox_inches="tight", facecolor="white")


if __name__ == "__main__":
    main()
