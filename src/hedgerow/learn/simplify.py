"""Simplification of drawn and grown models for reading, by the schema alone: post-processing of their structure.

A simplified model predicts the same for every combination of bins, whether a row has it or not, those of missing and
outside values included. Nothing here sees rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count, repeat

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.learn.learned import grafted, leaves_of
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node
from hedgerow.learn.search.space import Space
from hedgerow.models.conditions import complement
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

_MOST_NODES = 1_000  # boxes for which all tests are tried; for further boxes a tree keeps its own first test
_MOST_LOOKS = 1_000_000

Cost = tuple[int, int, int]
"""What makes a tree long to read, first things first: its leaves, the tests on all decision paths, and the tests of an
ordered attribute on paths where a smaller value than the largest is known, so that thresholds rise down the tree."""


def simplified(tree: Node, space: Space) -> Node:
    """Return the tree of least cost, no deeper than a given one, that predicts the same everywhere.

    It has tests of the given tree and those of the same attributes that are unions of what these tell apart. Of trees
    of the same cost, the tests that come first in the given one come first. Leaves without values count as different.
    A test that tells missing values from all others that are left is written as ``is missing``.
    """
    has_values = all(leaf.value is not None for leaf in leaves_of(tree))
    numbered = tree if has_values else grafted(tree, map(LeafNode, count()))
    search = _SmallestTrees(numbered, space)
    found = search.pruned(numbered, search.root)
    _, found = search.smallest(found, search.root, _height(found)) or (None, found)
    return found if has_values else grafted(found, repeat(LeafNode(None)))


class _SmallestTrees:
    """The trees of least cost that predict as one tree does inside some boxes, sets of bins as bits of a number."""

    def __init__(self, tree: Node, space: Space) -> None:
        self._space = space
        self.root = _bits(space.root)
        options = dict.fromkeys(_options(tree))
        attributes = {option: self._attribute(option) for option in options}
        tested = [name for name in attributes.values() if list(attributes.values()).count(name) > 1]
        others = [option for option in range(space.n_options) if self._attribute(option) in tested]
        self._sides = {option: self._sides_of(option) for option in (*options, *others)}
        self._told = [option for option in others if self._is_told_by(option, options)]
        self._missing = [one for one in self._told if space.antecedents[one][0].operator == "missing"]
        self._found: dict[tuple[int, int], tuple[Cost, Node] | None] = {}

    def _attribute(self, option: int) -> str:
        return self._space.antecedents[option][0].attribute

    def _sides_of(self, option: int) -> tuple[int, int, int, int]:
        """Return the bins of an option's attribute that it catches, and leaves, all of them, and the largest in order.

        The last is 0 without an order.
        """
        space, name = self._space, self._attribute(option)
        caught, left = _bits(space.caught[option]), _bits(space.left[option])
        schema = space.candidates.schema
        first = sum(schema[other].n_bins for other in schema.names[: schema.names.index(name)])
        last = first + schema[name].n_ordered - 1
        return caught, left, caught | left, 1 << last if schema[name].n_ordered else 0

    def _is_told_by(self, option: int, tests: Iterable[int]) -> bool:
        """Return whether an option divides nothing but what some tests of its attribute divide."""
        caught, _, own, _ = self._sides[option]
        atoms = [own]
        for test in tests:
            inside, _, same, _ = self._sides[test]
            if same == own:
                atoms = [part for atom in atoms for part in (atom & inside, atom & ~inside) if part]
        return all(atom & caught in (0, atom) for atom in atoms)

    def divided(self, option: int, box: int) -> tuple[int, int]:
        """Return the parts of a box that an option catches and leaves, 0 if there are none."""
        caught, left = self._sides[option][:2]
        return (box & ~left if box & caught else 0), (box & ~caught if box & left else 0)

    def pruned(self, tree: Node, box: int) -> Node:
        """Return a tree without the tests that a box decides, and those whose two sides predict the same."""
        if isinstance(tree, LeafNode):
            return tree
        caught, left = self.divided(tree.option, box)
        if not caught or not left:
            return self.pruned(tree.caught if caught else tree.left, box)
        yes, no = self.pruned(tree.caught, caught), self.pruned(tree.left, left)
        return yes if yes == no else InnerNode(tree.option, yes, no)

    def smallest(self, tree: Node, box: int, depth: int) -> tuple[Cost, Node] | None:
        """Return the tree of least cost up to a depth that predicts as a pruned one does inside a box; None if none."""
        if isinstance(tree, LeafNode):
            return (1, 0, 0), tree
        if not depth:
            return None
        if (box, depth) not in self._found:
            options = [tree.option] if len(self._found) >= _MOST_NODES else self._candidates(tree)
            self._found[box, depth] = self._best(tree, box, depth, options)
        return self._found[box, depth]

    def _plainest(self, option: int, box: int) -> int:
        """Return the test for missing values if it divides a box as an option does, else the option."""
        parts = set(self.divided(option, box))
        return next((one for one in self._missing if set(self.divided(one, box)) == parts), option)

    def _candidates(self, tree: Node) -> list[int]:
        """Return the options that a tree tests, and those of the attributes that it tests more than once."""
        options = list(dict.fromkeys(_options(tree)))
        tested = [self._sides[option][2] for option in options]
        return [*options, *(option for option in self._told if tested.count(self._sides[option][2]) > 1)]

    def _best(self, tree: Node, box: int, depth: int, options: Sequence[int]) -> tuple[Cost, Node] | None:
        best: tuple[Cost, Node] | None = None
        tried = set[int]()
        for given in options:
            option = self._plainest(given, box)
            caught, left = self.divided(option, box)
            if not caught or not left or caught in tried:
                continue
            tried |= {caught, left}
            inside, outside = self.pruned(tree, caught), self.pruned(tree, left)
            yes = self.smallest(inside, caught, depth - 1)
            if yes is None or (best is not None and yes[0][0] + _least(outside) > best[0][0]):
                continue
            no = self.smallest(outside, left, depth - 1)
            if no is None:
                continue
            leaves = yes[0][0] + no[0][0]
            last = self._sides[option][3]
            falls = yes[0][2] + no[0][2] + bool(last and not box & last)
            cost = leaves, yes[0][1] + no[0][1] + leaves, falls
            if best is None or cost < best[0]:
                best = cost, InnerNode(option, yes[1], no[1])
        return best


def _least(pruned: Node) -> int:
    """Return how many leaves a tree has at least that predicts the same as a pruned one."""
    return 1 if isinstance(pruned, LeafNode) else 2


def _options(tree: Node) -> Iterator[int]:
    if isinstance(tree, InnerNode):
        yield tree.option
        yield from _options(tree.caught)
        yield from _options(tree.left)


def _height(tree: Node) -> int:
    return 0 if isinstance(tree, LeafNode) else 1 + max(_height(tree.caught), _height(tree.left))


def _bits(bins: Mask) -> int:
    """Return a set of bins as a number, bit i for bin i."""
    return int.from_bytes(np.packbits(bins, bitorder="little").tobytes(), "little")


def _one_sided(literal: Literal) -> tuple[Literal, ...]:
    if literal.operator != "between":
        return ()
    low, high = literal.operands
    return Literal(literal.attribute, "<=", (high,)), Literal(literal.attribute, ">", (low,))


Box = dict[str, int]
"""The rows of an antecedent: the bins of each attribute that it restricts, bit i for bin i. Others may have any bin."""


def simplified_list(
    schema: Schema, antecedents: Sequence[Antecedent], values: Sequence[int] | None = None
) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
    """Return a rule list that predicts the same, and the places of its rules in the given one, the default included.

    Literals that follow from the failure of earlier rules are left out, or replaced by a comparison with one number;
    so are rules that no row reaches and, if values are known, those whose rows get the same value from later rules. A
    last rule with "not" changes places with the default rule.
    """
    rules = _Rules(schema)
    kept: list[tuple[int, Antecedent]] = []
    boxes: list[Box] = []
    for place, antecedent in enumerate((*antecedents, ())):
        if rules.reaches(rules.box(antecedent), boxes):
            kept.append((place, rules.widened(antecedent, boxes)))
            boxes.append(rules.box(kept[-1][1]))
            if not boxes[-1]:
                break
    if values is not None:
        for rule in reversed(kept[:-1]):
            if rules.is_repeated(kept.index(rule), kept, values):
                kept.remove(rule)
    places = [place for place, _ in kept]
    rules = [antecedent for _, antecedent in kept[:-1]]
    opposite = _complement_of(schema, rules[-1]) if rules else None
    if opposite is not None:
        rules[-1], places[-2:] = (opposite,), places[:-3:-1]
    return tuple(rules), tuple(places)


def _complement_of(schema: Schema, antecedent: Antecedent) -> Literal | None:
    """Return the literal without "not" that holds where an antecedent of one literal with it does not."""
    first, *others = antecedent
    if others or first.operator not in ("false", "!=", "known"):
        return None
    return complement(first, schema[first.attribute])


class _Rules:
    """The rules of lists as boxes of a schema, within a number of looks at pairs of them."""

    def __init__(self, schema: Schema) -> None:
        self._whole = {name: (1 << attribute.n_bins) - 1 for name, attribute in schema.attributes}
        self._looks = iter(range(_MOST_LOOKS))
        self._bins = cache(lambda literal: _bits(schema[literal.attribute].truth(literal)))

    def box(self, antecedent: Antecedent) -> Box:
        box: Box = {}
        for literal in antecedent:
            bins = self._bins(literal)
            box[literal.attribute] = box.get(literal.attribute, bins) & bins
        return box

    def widened(self, antecedent: Antecedent, earlier: Sequence[Box]) -> Antecedent:
        """Return an antecedent that catches the same of what earlier rules leave, with fewer or plainer literals."""
        for literal in antecedent:
            others = tuple(other for other in antecedent if other != literal)
            for wider in ((), *((one,) for one in _one_sided(literal))):
                box = self.box((*others, *wider))
                name, own = literal.attribute, self._bins(literal)
                more = {**box, name: box.get(name, self._whole[name]) & ~own}
                if not self.reaches(more, earlier):
                    place = antecedent.index(literal)
                    return self.widened((*antecedent[:place], *wider, *antecedent[place + 1 :]), earlier)
        return antecedent

    def is_repeated(self, number: int, kept: Sequence[tuple[int, Antecedent]], values: Sequence[int]) -> bool:
        """Return whether the rows of a rule would get its value from the rules after it."""
        place, antecedent = kept[number]
        own, boxes = self.box(antecedent), [self.box(rule) for _, rule in kept]
        for later in range(number + 1, len(kept)):
            if values[kept[later][0]] != values[place]:
                both = {name: own.get(name, bins) & bins for name, bins in {**own, **boxes[later]}.items()}
                if self.reaches(both, [*boxes[:number], *boxes[number + 1 : later]]):
                    return False
        return True

    def reaches(self, box: Box, earlier: Sequence[Box]) -> bool:
        """Return whether a box has rows outside all of some others; also True once all looks are spent."""
        stack = [(box, 0)] if all(box.values()) else []
        while stack:
            part, place = stack.pop()
            while place < len(earlier) and not all(
                part.get(k, self._whole[k]) & bins for k, bins in earlier[place].items()
            ):
                place += 1
                if next(self._looks, None) is None:
                    return True
            if place == len(earlier) or next(self._looks, None) is None:
                return True
            for name, bins in earlier[place].items():
                own = part.get(name, self._whole[name])
                if own & ~bins:
                    stack.append(({**part, name: own & ~bins}, place + 1))
                part = {**part, name: own & bins}
        return False
