"""Released decision trees with their text, plots and exports. No learning code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile
from typing import Any, ClassVar, Self, TypeVar
from xml.etree.ElementTree import Element

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.conditions import Dialect, Path, Pieces, check_literals, conditions
from hedgerow.models.decisions import CostTable, cost_table
from hedgerow.models.importance import Division
from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.leaf_groups import MOST_BOXES, MOST_LINES, LeafGroup, ShownNode, groups_of, tree_outline
from hedgerow.models.leaf_model import LeafModel, NotedLines
from hedgerow.models.plot import NO_BREAK, check_drawable, shade
from hedgerow.models.pmml import split_node, tree_model
from hedgerow.models.python_source import python_choice
from hedgerow.models.size import TreeSize
from hedgerow.models.tree_plot import DrawnLeaf, DrawnNode, tree_diagram
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal, Schema
from hedgerow.text.axes import Axes
from hedgerow.text.language import _, enumerated, gettext_noop
from hedgerow.text.messages import number_of
from hedgerow.text.values import Value, printable, shown_text

MAX_DEPTH = 64  # Python accepts at most 100 levels of indentation, and such a tree is unreadable
_MISSING = gettext_noop("a missing value satisfies no test except `is missing`")
_T = TypeVar("_T")


@dataclass(frozen=True, repr=False)
class Tree(LeafModel):
    """A binary decision tree: splits route each row to one leaf, which predicts.

    All its contents are released: the schema, the splits, the counts or labels of the leaves, and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema of the splits.
    root : Split or Leaf
        The first split, or the only leaf.
    privacy : PrivacyCard
        The privacy budget spent and the guarantee.
    costs : tuple of tuple of float, optional
        The costs that the fit minimised, by actual class, then by predicted class. None if all errors had the same
        cost, or if the model predicts a number.

    Raises
    ------
    SchemaError
        If a split does not fit the schema.
    ValueError
        If a leaf's counts or label do not fit the classes, or the tree is deeper than 64 splits.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30,)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
    >>> young = Split(Literal("smoker", "true"), Leaf((10, 90)), Leaf((30, 10)))
    >>> root = Split(Literal("age", "<=", (30,)), young, Leaf(label="yes"))
    >>> tree = Tree(schema, root, PrivacyCard.none("example", software="hedgerow"))
    >>> print(tree)
    if age <= 30:
        if smoker: yes    # 90.0 % of 100
        else: no          # 75.0 % of 40
    else: yes
    >>> tree.conditions
    ('age <= 30 and smoker', 'age <= 30 and not smoker', 'age > 30')
    """

    schema: Schema
    root: TreeNode
    privacy: PrivacyCard
    costs: CostTable | None = None

    kind: ClassVar[str] = "tree"
    leaf_name: ClassVar[str] = "leaf"
    exclusive: ClassVar[bool] = True
    listing_title: ClassVar[str] = gettext_noop("Leaves: each row is in exactly one")
    format: ClassVar[str] = "hedgerow/tree"

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", cost_table(self.costs, self.schema.target))
        self.leaf_release  # noqa: B018 -- raises if it does not fit
        check_literals(self._literals, self.schema, "a split")

    @cached_property
    def _paths(self) -> tuple[tuple[Path, Leaf], ...]:
        """The decision path and the content of each leaf, computed without recursion."""
        paths: list[tuple[Path, Leaf]] = []
        waiting: list[tuple[Path, TreeNode]] = [((), self.root)]
        while waiting:
            path, node = waiting.pop()
            if isinstance(node, Leaf):
                paths.append((path, node))
                continue
            if not isinstance(node, Split):
                raise ArgumentTypeError(f"expected a Split or a Leaf, got {type(node).__name__}.")
            _check_depth(len(path) + 1)
            waiting.append(((*path, (node.literal, False)), node.false))
            waiting.append(((*path, (node.literal, True)), node.true))
        return tuple(paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(path for path, _leaf in self._paths)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves; for each split, the leaves of the true branch come first."""
        return self._leaves

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for _path, leaf in self._paths)

    @property
    def depth(self) -> int:
        """The number of splits on the longest decision path."""
        return max(len(path) for path, _leaf in self._paths)

    @property
    def sizes(self) -> dict[str, int]:
        return {"max_depth": self.depth}

    @property
    def size(self) -> TreeSize:
        """The number of leaves, the depth, and a lower bound on the share of rows in every leaf."""
        return TreeSize(len(self), self.depth, self.leaf_release.smallest_share())

    @property
    def n_splits(self) -> int:
        """The number of splits."""
        return len(self.leaves) - 1

    @property
    def conditions(self) -> tuple[str, ...]:
        """The decision path of each leaf as text; "always" for a tree without splits.

        All splits on an attribute are combined into one condition, such as ``20 < age <= 30``. If the age may be
        missing, the rows that do not satisfy ``age <= 30`` are described by ``age > 30 or missing``.
        """
        return tuple(map(Pieces[str](str, "text"), conditions(self.paths, self.schema, _("always"))))

    def fold(self, split: Callable[[Literal, _T, _T], _T], leaf: Callable[[int], _T]) -> _T:
        """Return the result of folding the tree from the leaves up.

        `leaf` maps the index of a leaf to a value; `split` combines the values of the true and the false branch of a
        literal.

        Examples
        --------
        >>> from hedgerow.schema import Boolean, Label, Literal, Schema
        >>> schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
        >>> root = Split(Literal("smoker", "true"), Leaf(label="yes"), Leaf(label="no"))
        >>> tree = Tree(schema, root, PrivacyCard.none("example", software="hedgerow"))
        >>> tree.fold(lambda literal, true, false: f"{literal} ? {true} : {false}", lambda i: tree.predictions[i])
        'smoker ? yes : no'
        """
        numbers = count()

        def walk(node: TreeNode) -> _T:
            if isinstance(node, Leaf):
                return leaf(next(numbers))
            return split(node.literal, walk(node.true), walk(node.false))

        return walk(self.root)

    @property
    def _divisions(self) -> tuple[Division, ...]:
        divisions: list[Division] = []

        def split(literal: Literal, true: tuple[int, int], false: tuple[int, int]) -> tuple[int, int]:
            divisions.append(Division((literal.attribute,), *true, false[1]))
            return true[0], false[1]

        self.fold(split, lambda i: (i, i + 1))
        return tuple(divisions)

    def _structure(self) -> dict[str, Any]:
        def split(literal: Literal, true: dict[str, Any], false: dict[str, Any]) -> dict[str, Any]:
            return {"if": literal.to_dict(), "true": true, "false": false}

        leaves = self.leaves
        return {"root": self.fold(split, lambda i: leaves[i].to_dict(self.predictions[i])), **self._costs_entry}

    @classmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        return cls(schema, _node(data["root"], 0), privacy, data.get("costs"))

    def _sql(self, dialect: Dialect) -> list[str]:
        from hedgerow.models import sql  # sqlglot takes long to import

        if dialect.types == "declared":
            return sql.first_case(list(map(self._case, self.paths, self.predictions)), self.schema, dialect)
        written = sql.conditions(self.schema, dialect)
        return self.fold(
            lambda literal, true, false: sql.choice(written((literal, True)), true, false),
            lambda i: [sql.constant(self.predictions[i], dialect)],
        )

    def _case(self, path: Path, prediction: Value) -> tuple[Sequence[Literal], Value]:
        """Return a leaf as a case of a list in which the first matching case decides.

        Literals that are false on the path need no test, since earlier cases match the rows that satisfy them. Literals
        that a narrower literal on the same attribute implies are omitted, too.
        """
        needed: list[Literal] = []
        for literal in (literal for literal, holds in reversed(path) if holds):
            truth = self.schema[literal.attribute].truth(literal)
            narrower = [other for other in needed if other.attribute == literal.attribute]
            if not any((self.schema[other.attribute].truth(other) <= truth).all() for other in narrower):
                needed.append(literal)
        return needed[::-1], prediction

    def to_pmml(self) -> str:
        def split(literal: Literal, true: Element, false: Element) -> Element:
            return split_node(literal, self.schema[literal.attribute], true, false)

        root = self.fold(split, self._pmml_node)
        has_shares = self.leaf_release.has_all_shares
        return self._pmml_document(tree_model(self.schema.target, root, has_shares=has_shares))

    def _python(self, written: Pieces[Literal]) -> list[str]:
        return self.fold(
            lambda literal, true, false: python_choice(written(literal), true, false),
            lambda i: [f"return {self.predictions[i]!r}"],
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree with true branches to the left, and return the axes.

        At most 12 leaves are drawn. Subtrees that may have no rows are folded into one box each, and then the deepest
        subtrees, beginning with the subtrees with the fewest released rows. The colour of a leaf shows its class; for
        numbers, darker leaves predict lower values.
        """
        outline = self._outline(MOST_BOXES - 1)
        groups, number = groups_of(outline), self.schema.target.as_number
        levels = self._shown_levels(groups)
        check_drawable(len(groups), len(levels))

        def drawn(part: ShownNode) -> DrawnNode:
            if isinstance(part, LeafGroup):
                return self._drawn_leaf(part, levels)
            return Split(part.literal, drawn(part.true), drawn(part.false))

        caption = enumerated([self._caption, *self._missing_remark, *self._folding(groups)])
        root = drawn(outline)
        if number is None:
            return tree_diagram(root, list(map(shown_text, levels)), caption, ax)
        names = [shown_text(self._rounded(level)) for level in levels]
        shades = [shade((level - number.low) / (number.high - number.low)) for level in levels]
        return tree_diagram(root, names, caption, ax, shades, printable(number.name))

    def _drawn_leaf(self, group: LeafGroup, levels: Sequence[Any]) -> DrawnLeaf:
        support = self.leaf_release.support(group.first, group.stop)
        predicted = set(self.predictions[group.first : group.stop])
        shares = tuple(map(float, self.probabilities[group.first])) if support.share_shown else ()
        note = (self._note(group) or "").replace(" of ", f" of{NO_BREAK}")
        level = levels.index(predicted.pop()) if len(predicted) == 1 else None
        return DrawnLeaf(level, note, shares, self._prediction_text(group), is_folded=group.size > 1)

    @property
    def _missing_remark(self) -> list[str]:
        tests = [literal for literal in self._literals if literal.operator != "missing"]
        return [_(_MISSING)] if any(self.schema[test.attribute].missing == "bin" for test in tests) else []

    @property
    def _remarks_on_rows(self) -> list[str]:
        return [*super()._remarks_on_rows, *self._missing_remark]

    def _outline(self, most_splits: int | None) -> ShownNode:
        return tree_outline(self.root, self.leaf_release, most_splits)

    def _shown_groups(self, *, is_full: bool) -> list[LeafGroup]:
        return groups_of(self._outline(None if is_full else MOST_LINES // 2))

    def _condition(self, group: LeafGroup) -> str:
        above, last = self._paths[group.first][0], self._paths[group.stop - 1][0]
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(above, last, strict=False))
        return next(conditions([tuple(test for test, _same in shared)], self.schema, _("always")))

    def _lines(self, *, is_full: bool) -> NotedLines:
        def lines_of(part: ShownNode) -> NotedLines:
            if isinstance(part, LeafGroup):
                return [(self._prediction_text(part), part)]
            head, below = _under(f"if {part.literal}:", lines_of(part.true)), lines_of(part.false)
            if isinstance(part.false, LeafGroup):
                return head + _under("else:", below)
            return [*head, (f"else {below[0][0]}", below[0][1]), *below[1:]]

        lines = lines_of(self._outline(None if is_full else MOST_LINES // 2))
        return _under("always:", lines) if len(lines) == 1 else lines

    def __repr__(self) -> str:
        return f"<Tree of {number_of(len(self), 'leaf', 'leaves')}; {self._guarantee}>"


def _under(head: str, lines: NotedLines) -> NotedLines:
    """Return a head with its branch below it; a single leaf is put on the line of the head."""
    if len(lines) == 1:
        return [(f"{head} {lines[0][0]}", lines[0][1])]
    return [(head, None), *((f"    {text}", number) for text, number in lines)]


def _node(data: Mapping[str, Any], depth: int) -> TreeNode:
    if "if" not in data:
        return Leaf.from_dict(data)
    _check_depth(depth + 1)
    return Split(Literal.from_dict(data["if"]), _node(data["true"], depth + 1), _node(data["false"], depth + 1))


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ArgumentError(f"expected a tree of depth {MAX_DEPTH} at most; this tree is deeper.")
