"""Simplification of trees and rule lists: post-processing of their structure that depends on the schema only.

A simplified model predicts the same as the given model for every combination of bins, including the bins of missing and
outside values. This module does not read rows.
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

_MAX_BOXES = 1_000  # boxes for which all candidate tests are tried; in further boxes a tree keeps its first test
_MAX_STEPS = 1_000_000  # comparisons of boxes for a rule list; then a rule is kept as it is

Cost = tuple[int, int, int]
"""Cost of a tree in lexicographic order: leaves, tests on all decision paths, and falling thresholds.

A test of an ordered attribute counts as a falling threshold if earlier tests exclude the attribute's last bin.
"""


def simplified(tree: Node, space: Space) -> Node:
    """Return the tree of least cost, at most as deep as `tree`, with the same predictions for all combinations of bins.

    Candidate tests are the tests of `tree`. If `tree` has several tests of an attribute, further tests of this
    attribute are candidates if they do not separate bins that those tests keep together. Ties go to the tests that come
    first in `tree`. Leaves without values count as different. If a test separates missing values from all other
    remaining values, the result tests ``is missing``. In large trees, the search is not exhaustive (`_MAX_BOXES`).
    """
    has_values = all(leaf.value is not None for leaf in leaves_of(tree))
    distinct = tree if has_values else grafted(tree, map(LeafNode, count()))
    search = _SmallestTrees(distinct, space)
    smallest = search.pruned(distinct, search.root)
    _, smallest = search.smallest(smallest, search.root, _height(smallest)) or (None, smallest)
    return smallest if has_values else grafted(smallest, repeat(LeafNode(None)))


class _SmallestTrees:
    """Search for trees of least cost that predict as a given tree inside boxes, which are sets of bins as bit masks."""

    def __init__(self, tree: Node, space: Space) -> None:
        self._space = space
        self.root = _bits(space.root)
        options = dict.fromkeys(_options(tree))
        attributes = {option: self._attribute(option) for option in options}
        tested = [name for name in attributes.values() if list(attributes.values()).count(name) > 1]
        same_attribute = [option for option in range(space.n_options) if self._attribute(option) in tested]
        self._sides = {option: self._sides_of(option) for option in (*options, *same_attribute)}
        self._extra_tests = [option for option in same_attribute if self._is_refined_by(option, options)]
        self._missing_tests = [test for test in self._extra_tests if space.antecedents[test][0].operator == "missing"]
        self._best_trees: dict[tuple[int, int], tuple[Cost, Node] | None] = {}

    def _attribute(self, option: int) -> str:
        return self._space.antecedents[option][0].attribute

    def _sides_of(self, option: int) -> tuple[int, int, int, int]:
        """Return bit masks of an attribute's bins: those that pass the test, those that fail, all, and the last bin.

        The mask of the last bin is 0 if the attribute is not ordered.
        """
        space, name = self._space, self._attribute(option)
        caught, left = _bits(space.caught[option]), _bits(space.left[option])
        schema = space.candidates.schema
        first = sum(schema[other].n_bins for other in schema.names[: schema.names.index(name)])
        last = first + schema[name].n_ordered - 1
        return caught, left, caught | left, 1 << last if schema[name].n_ordered else 0

    def _is_refined_by(self, option: int, tests: Iterable[int]) -> bool:
        """Return whether a test only separates bins that other tests of its attribute separate."""
        caught, _, own, _ = self._sides[option]
        atoms = [own]
        for test in tests:
            inside, _, same, _ = self._sides[test]
            if same == own:
                atoms = [part for atom in atoms for part in (atom & inside, atom & ~inside) if part]
        return all(atom & caught in (0, atom) for atom in atoms)

    def divided(self, option: int, box: int) -> tuple[int, int]:
        """Return the parts of a box that pass and fail a test; an empty part is 0."""
        caught, left = self._sides[option][:2]
        return (box & ~left if box & caught else 0), (box & ~caught if box & left else 0)

    def pruned(self, tree: Node, box: int) -> Node:
        """Return a tree without tests that have the same result in all of a box, or the same subtree on both sides."""
        if isinstance(tree, LeafNode):
            return tree
        passing, failing = self.divided(tree.option, box)
        if not passing or not failing:
            return self.pruned(tree.caught if passing else tree.left, box)
        yes, no = self.pruned(tree.caught, passing), self.pruned(tree.left, failing)
        return yes if yes == no else InnerNode(tree.option, yes, no)

    def smallest(self, tree: Node, box: int, depth: int) -> tuple[Cost, Node] | None:
        """Return the tree of least cost and limited depth that predicts as a pruned tree inside a box, or None."""
        if isinstance(tree, LeafNode):
            return (1, 0, 0), tree
        if not depth:
            return None
        if (box, depth) not in self._best_trees:
            options = [tree.option] if len(self._best_trees) >= _MAX_BOXES else self._candidates(tree)
            self._best_trees[box, depth] = self._best(tree, box, depth, options)
        return self._best_trees[box, depth]

    def _simplest(self, option: int, box: int) -> int:
        """Return the test for missing values if it divides a box as this test does, else this test."""
        parts = set(self.divided(option, box))
        return next((test for test in self._missing_tests if set(self.divided(test, box)) == parts), option)

    def _candidates(self, tree: Node) -> list[int]:
        """Return the tests of a tree, and the further candidates for attributes with several tests in it."""
        options = list(dict.fromkeys(_options(tree)))
        tested = [self._sides[option][2] for option in options]
        return [*options, *(option for option in self._extra_tests if tested.count(self._sides[option][2]) > 1)]

    def _best(self, tree: Node, box: int, depth: int, options: Sequence[int]) -> tuple[Cost, Node] | None:
        best: tuple[Cost, Node] | None = None
        tried = set[int]()
        for candidate in options:
            option = self._simplest(candidate, box)
            passing, failing = self.divided(option, box)
            if not passing or not failing or passing in tried:
                continue
            tried |= {passing, failing}
            inside, outside = self.pruned(tree, passing), self.pruned(tree, failing)
            yes = self.smallest(inside, passing, depth - 1)
            if yes is None or (best is not None and yes[0][0] + _min_leaves(outside) > best[0][0]):
                continue
            no = self.smallest(outside, failing, depth - 1)
            if no is None:
                continue
            leaves = yes[0][0] + no[0][0]
            last = self._sides[option][3]
            falls = yes[0][2] + no[0][2] + bool(last and not box & last)
            cost = leaves, yes[0][1] + no[0][1] + leaves, falls
            if best is None or cost < best[0]:
                best = cost, InnerNode(option, yes[1], no[1])
        return best


def _min_leaves(pruned: Node) -> int:
    """Return a lower bound on the leaves of a tree that predicts the same as a pruned tree."""
    return 1 if isinstance(pruned, LeafNode) else 2


def _options(tree: Node) -> Iterator[int]:
    if isinstance(tree, InnerNode):
        yield tree.option
        yield from _options(tree.caught)
        yield from _options(tree.left)


def _height(tree: Node) -> int:
    return 0 if isinstance(tree, LeafNode) else 1 + max(_height(tree.caught), _height(tree.left))


def _bits(bins: Mask) -> int:
    """Return a set of bins as a bit mask, bit i for bin i."""
    return int.from_bytes(np.packbits(bins, bitorder="little").tobytes(), "little")


def _one_sided(literal: Literal) -> tuple[Literal, ...]:
    if literal.operator != "between":
        return ()
    low, high = literal.operands
    return Literal(literal.attribute, "<=", (high,)), Literal(literal.attribute, ">", (low,))


Box = dict[str, int]
"""Bins of the rows that match an antecedent: a bit mask for each attribute that it restricts, bit i for bin i."""


def simplified_list(
    schema: Schema, antecedents: Sequence[Antecedent], values: Sequence[int] | None = None
) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
    """Return a rule list that predicts the same, and the original places of its rules, including the default rule.

    A literal is omitted if it follows from the failure of earlier rules, and ``between`` becomes a single comparison if
    that is enough. A rule is omitted if no row can reach it or, if values are known, if later rules give its rows the
    same value. If the last rule is a negated literal, it changes places with the default rule.
    """
    rules = _Rules(schema)
    remaining: list[tuple[int, Antecedent]] = []
    boxes: list[Box] = []
    for place, antecedent in enumerate((*antecedents, ())):
        if rules.reaches(rules.box(antecedent), boxes):
            remaining.append((place, rules.widened(antecedent, boxes)))
            boxes.append(rules.box(remaining[-1][1]))
            if not boxes[-1]:
                break
    if values is not None:
        for rule in reversed(remaining[:-1]):
            if rules.is_repeated(remaining.index(rule), remaining, values):
                remaining.remove(rule)
    places = [place for place, _ in remaining]
    rules = [antecedent for _, antecedent in remaining[:-1]]
    opposite = _complement_of(schema, rules[-1]) if rules else None
    if opposite is not None:
        rules[-1], places[-2:] = (opposite,), places[:-3:-1]
    return tuple(rules), tuple(places)


def _complement_of(schema: Schema, antecedent: Antecedent) -> Literal | None:
    """Return the complement of an antecedent that is a single negated literal, else None."""
    first, *further = antecedent
    if further or first.operator not in ("false", "!=", "known"):
        return None
    return complement(first, schema[first.attribute])


class _Rules:
    """Boxes of rules, compared within a limited number of steps."""

    def __init__(self, schema: Schema) -> None:
        self._whole = {name: (1 << attribute.n_bins) - 1 for name, attribute in schema.attributes}
        self._steps = iter(range(_MAX_STEPS))
        self._bins = cache(lambda literal: _bits(schema[literal.attribute].truth(literal)))

    def box(self, antecedent: Antecedent) -> Box:
        box: Box = {}
        for literal in antecedent:
            bins = self._bins(literal)
            box[literal.attribute] = box.get(literal.attribute, bins) & bins
        return box

    def widened(self, antecedent: Antecedent, earlier: Sequence[Box]) -> Antecedent:
        """Return an antecedent with fewer or simpler literals that matches the same rows after the earlier rules."""
        for literal in antecedent:
            remaining = tuple(other for other in antecedent if other != literal)
            for wider in ((), *((bound,) for bound in _one_sided(literal))):
                box = self.box((*remaining, *wider))
                name, own = literal.attribute, self._bins(literal)
                more = {**box, name: box.get(name, self._whole[name]) & ~own}
                if not self.reaches(more, earlier):
                    place = antecedent.index(literal)
                    return self.widened((*antecedent[:place], *wider, *antecedent[place + 1 :]), earlier)
        return antecedent

    def is_repeated(self, number: int, rules: Sequence[tuple[int, Antecedent]], values: Sequence[int]) -> bool:
        """Return whether later rules would give the rows of a rule the same value."""
        place, antecedent = rules[number]
        own, boxes = self.box(antecedent), [self.box(rule) for _, rule in rules]
        for later in range(number + 1, len(rules)):
            if values[rules[later][0]] != values[place]:
                both = {name: own.get(name, bins) & bins for name, bins in {**own, **boxes[later]}.items()}
                if self.reaches(both, [*boxes[:number], *boxes[number + 1 : later]]):
                    return False
        return True

    def reaches(self, box: Box, earlier: Sequence[Box]) -> bool:
        """Return whether part of a box lies outside all earlier boxes; also True if the limit of steps is reached."""
        stack = [(box, 0)] if all(box.values()) else []
        while stack:
            part, place = stack.pop()
            while place < len(earlier) and not all(
                part.get(k, self._whole[k]) & bins for k, bins in earlier[place].items()
            ):
                place += 1
                if next(self._steps, None) is None:
                    return True
            if place == len(earlier) or next(self._steps, None) is None:
                return True
            for name, bins in earlier[place].items():
                own = part.get(name, self._whole[name])
                if own & ~bins:
                    stack.append(({**part, name: own & ~bins}, place + 1))
                part = {**part, name: own & bins}
        return False
