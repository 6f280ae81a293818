"""Sets of trees that were released together: text, JSON and a page; wishes choose one of them for free."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, combinations
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Array, Floats, Mask
from hedgerow.errors import ArgumentError, ArgumentTypeError, ModelFormatError, SchemaError
from hedgerow.models import envelope
from hedgerow.models.caveats import box_of
from hedgerow.models.leaf_groups import MOST_LINES
from hedgerow.models.model import page_template
from hedgerow.models.plot import check_matplotlib, svg_of
from hedgerow.models.size import TreeSetSize
from hedgerow.models.tree import Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.text.axes import Axes
from hedgerow.text.markup import Html, element, joined, table
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

_MOST_COMPARED = 20  # trees, in a table of all pairs
MOST_MODELS = 100  # of a set


@dataclass(frozen=True, repr=False)
class TreeSet(envelope.SealedFile):
    """Trees that were released together, for one charge: each carries the card of all.

    Attributes
    ----------
    models : tuple of Tree
        The trees, in the order in which they were drawn, which says nothing about which is best.

    Examples
    --------
    >>> from hedgerow.models import Leaf, Split
    >>> from hedgerow.schema import Boolean, Label, Literal
    >>> schema, card = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1))), PrivacyCard.none("example")
    >>> roots = [Split(Literal(name, "true"), Leaf(label=1), Leaf(label=0)) for name in ("a", "b")]
    >>> found = TreeSet(tuple(Tree(schema, root, card) for root in roots))
    >>> print(found.pick(without=["a"]))
    if b: 1
    else: 0
    >>> found.differences()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    models: tuple[Tree, ...]
    format: ClassVar[str] = "hedgerow/tree-set"

    def __post_init__(self) -> None:
        if not isinstance(self.models, tuple) or {Tree} != {*map(type, self.models)}:
            raise ArgumentError("expected a tuple of one tree or more, got something else.")
        if len(self.models) > MOST_MODELS:
            raise ArgumentError(f"expected at most {MOST_MODELS} trees, got {len(self.models):,}.")
        if any((one.schema, one.privacy) != (self.schema, self.privacy) for one in self.models):
            raise ArgumentError("expected trees of one schema and with one privacy card, got others.")

    @property
    def schema(self) -> Schema:
        """The public schema of all."""
        return self.models[0].schema

    @property
    def privacy(self) -> PrivacyCard:
        """The card: what all of them cost together."""
        return self.models[0].privacy

    @property
    def size(self) -> TreeSetSize:
        """The size of each tree."""
        return TreeSetSize(tuple(one.size for one in self.models))

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.models)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a set of trees has no {name}; pick one of them: `pick()` returns a tree.")

    def pick(
        self, *, max_leaves: int | None = None, without: Collection[str] = (), key: Callable[[Tree], Any] = len
    ) -> Tree:
        """Return the tree that suits best; it costs nothing more, as all of them are released.

        Parameters
        ----------
        max_leaves : int, optional
            The most leaves.
        without : collection of str, optional
            Attributes that it must not use.
        key : callable, default=len
            What is to be least, from a tree: its leaves, or a rate that `hedgerow.evaluate` released. Scores of the
            rows would be a release of their own. Of equals the first is returned.

        Raises
        ------
        ValueError
            If none suits, or an attribute is not in the schema.
        TypeError
            If `without` is no collection, or `key` no function.
        """
        if isinstance(without, str):
            raise ArgumentError("without must be a list of attributes, got one text.")
        if not isinstance(without, Collection):
            raise ArgumentTypeError(f"without must be a list of attributes, got {type(without).__name__}.")
        if not callable(key):
            raise ArgumentTypeError(f"key must be a function of a tree, got {type(key).__name__}.")
        for name in without:
            if name not in self.schema.names:
                raise SchemaError("is in without but not declared.", attribute=str(name))
        most = None if max_leaves is None else check_integer("max_leaves", max_leaves, 1)
        fits = (one for one in self.models if most is None or len(one) <= most)
        found = [one for one in fits if not set(without) & set(one.used_attributes)]
        if not found:
            raise ArgumentError(f"no tree of the {len(self)} suits; ask for less, or draw more of them.")
        return min(found, key=key)

    def predict(self, X: Any) -> Array:
        """Return what each tree predicts of each row, shape ``(n_rows, n_models)``; see `Tree.predict`."""
        return np.column_stack([one.predict(X) for one in self.models])

    def differences(self) -> Floats:
        """Return the share of all possible rows of which two trees predict differently, ``(n_models, n_models)``.

        All combinations of bins count alike; 0 where two trees say the same of every row. No row is read.
        """
        every = {name: np.ones(one.n_bins, dtype=bool) for name, one in self.schema.attributes}
        said = [np.array(one.predictions, dtype=object) for one in self.models]
        bins = [_bins_of(one, every) for one in self.models]
        found = np.zeros((len(self), len(self)))
        for i, j in combinations(range(len(self)), 2):  # the boxes of a leaf of each meet in a share of all rows
            names = {*bins[i], *bins[j]}
            rest = {name: every[name][None].astype(float) for name in names}
            parts = ((rest | bins[i])[name] @ (rest | bins[j])[name].T / len(every[name]) for name in names)
            found[i, j] = found[j, i] = (prod(parts) * (said[i][:, None] != said[j])).sum()
        return found

    def plot(self, axes: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw the trees side by side, and return the axes, one for each."""
        check_matplotlib()
        from matplotlib import pyplot

        size: Any = {"figsize": (6 * len(self), 4), "squeeze": False}
        given = pyplot.subplots(1, len(self), **size)[1][0] if axes is None else axes
        if len(given) != len(self):
            raise ArgumentError(f"expected {len(self)} axes, one for each tree, got {len(given)}.")
        return [self._plot(place, ax) for place, ax in enumerate(given)]

    def _plot(self, place: int, ax: Axes | None = None) -> Axes:
        drawn = self.models[place].plot(ax)
        drawn.title.set_text(f"tree {place + 1} of {len(self)}\n{drawn.get_title()}")
        return drawn

    def __str__(self) -> str:
        trees = list(map(str, self.models[: self._n_shown]))
        left = len(self) - len(trees)
        more = [f"({number_of(left, 'more tree')}; to_text() shows every tree)"] if left else []
        return self._titled(trees, more)

    def to_text(self) -> str:
        """Return all trees in words, with every leaf. ``str(trees)`` shows those that fit two pages."""
        return self._titled([one.to_text() for one in self.models], [])

    def _titled(self, trees: Sequence[str], more: Sequence[str]) -> str:
        titled = [f"tree {number} of {len(self)}\n{text}" for number, text in enumerate(trees, 1)]
        return "\n\n".join([*titled, *more, f"guarantee: {printable(self.privacy.headline)}"])

    @property
    def _n_shown(self) -> int:
        """The number of trees that are shown in words: those that have no more lines than two pages, at least one."""
        lines = accumulate(min(2 * one.n_splits, MOST_LINES) for one in self.models)
        return max(sum(number <= 2 * MOST_LINES for number in lines), 1)

    def __repr__(self) -> str:
        return f"<TreeSet of {number_of(len(self), 'tree')}; guarantee: {printable(self.privacy.headline)}>"

    @property
    def _body_html(self) -> Html:
        names = [f"tree {number}" for number in range(1, len(self) + 1)]
        is_compared = len(self) <= _MOST_COMPARED
        shares = self.differences().tolist() if is_compared else [[]] * len(self)
        apart = [[f"{share:.1%}" for share in row] for row in shares]
        rows = [
            [name, str(len(one)), ", ".join(map(printable, one.used_attributes)), *shares]
            for name, one, shares in zip(names, self.models, apart, strict=True)
        ]
        about = "The trees" + ", and the share of all possible rows of which each two predict differently" * is_compared
        titled = zip(names, self.models, strict=True)
        words = [element("div", element("b", name), element("pre", str(one))) for name, one in titled]
        shown = element("div", *words, style="display:flex;flex-wrap:wrap;gap:1.5rem")
        return joined(table(["", "leaves", "attributes", *(names if is_compared else [])], rows, caption=about), shown)

    def _repr_html_(self) -> str:
        return joined(element("p", f"{self!r}"), self._body_html)

    def to_html(self) -> str:
        """Return the trees side by side, where they differ (up to 20), and their card as an HTML fragment."""
        return self._body_html + element("pre", str(self.privacy))

    def to_page(self) -> str:
        """Return a whole HTML page: all trees as pictures, side by side, where they differ, in words, and the card."""
        title = f"{number_of(len(self), 'tree')} for {printable(self.schema.target.name)}"
        pictures = [svg_of(partial(self._plot, i), f"Picture of tree {i + 1}") for i in range(len(self))]
        parts = {"picture": joined(*pictures), "problem": "", "body": self._body_html}
        parts |= {"title": title, "guarantee": printable(self.privacy.headline), "digest": self.to_dict()["digest"]}
        return page_template().render(**parts, card=Html(self.privacy.to_html()))

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON-ready data: the files of its trees, sealed together with a digest."""
        return envelope.seal({"format": self.format, "version": 1, "models": [one.to_dict() for one in self.models]})

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        if not isinstance(sealed["models"], list):
            raise ModelFormatError("expected a list of trees")
        return cls(tuple(map(Tree.from_dict, sealed["models"])))


def _bins_of(tree: Tree, every: Mapping[str, Mask]) -> dict[str, Floats]:
    """Return which bins of each attribute that a tree uses reach each leaf, as 0 and 1: ``(n_leaves, n_bins)``."""
    boxes = [box_of(tree.schema, path) for path in tree.paths]
    used = set().union(*boxes)
    return {name: np.array([box.get(name, every[name]) for box in boxes], dtype=float) for name in used}
