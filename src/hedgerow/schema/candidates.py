"""Candidate antecedents: all conjunctions of up to `max_literals` literals on different attributes; public."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Integers, Mask
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Extent, Literal
from hedgerow.schema.schema import FROM_ROWS, Schema

MOST_CANDIDATES = 5_000_000
FEW_CUTS = 5
"""The largest number of cut points of an attribute that a coarser search keeps."""
_CUTS = ("<=", ">")  # operators of tests at a cut point
Antecedent = tuple[Literal, ...]


def count_candidates(schema: Schema, max_literals: int, *, negations: bool = True) -> int:
    """Return the number of candidates, without building them.

    With ``l_a`` literals on attribute ``a`` this is the sum of the elementary symmetric polynomials of the ``l_a`` of
    degree 1 to `max_literals`.

    Examples
    --------
    >>> from hedgerow.schema import Boolean
    >>> schema = Schema({f"x{i}": Boolean() for i in range(20)})
    >>> count_candidates(schema, max_literals=2)
    800
    """
    polynomial = [1] + [0] * min(max_literals, len(schema))
    for shape in literal_shapes(schema).values():
        size, powers = shape.count_literals(negations=negations), range(len(polynomial))
        of_shape = [comb(shape.times, power) * size**power for power in powers]
        polynomial = [sum(polynomial[k] * of_shape[power - k] for k in range(power + 1)) for power in powers]
    return sum(polynomial[1:])


def longest_candidate(schema: Schema, max_literals: int, *, negations: bool = True) -> int:
    """Return the length of the longest candidate: the smaller of `max_literals` and the attributes with literals."""
    shapes = literal_shapes(schema).values()
    return min(max_literals, sum(shape.times for shape in shapes if shape.count_literals(negations=negations)))


@dataclass(frozen=True)
class LiteralShape:
    """Group of attributes with equivalent literals."""

    attribute: Attribute  # a representative of the group
    reachable: Attribute  # the representative without the bins that no row can be in
    times: int  # the number of attributes

    def literals(self, *, negations: bool) -> tuple[Literal, ...]:
        """Return the literals on the representative, without an attribute name."""
        return self.reachable.literals("", negations=negations)

    def count_literals(self, *, negations: bool) -> int:
        """Return the number of these literals."""
        return self.reachable.count_literals(negations=negations)

    def truth(self, *, negations: bool) -> Mask:
        """Return the truth of these literals on the bins of the representative, shape ``(n_literals, n_bins)``."""
        return self.attribute.literal_truth(self.reachable, negations=negations)

    @cached_property
    def divisions(self) -> Mapping[int, Extent]:
        """The extents of literals that divide rows differently, by position; for two complements only the first."""
        # On numbers and ordered values, "between" and "=" are omitted: two nested tests are equivalent to them.
        divisions: dict[int, Extent] = {}
        known = set[Extent]()
        for place, literal in enumerate(self.literals(negations=False)):
            extent, is_interval = self.attribute.extent(literal), literal.operator == "between"
            if extent in known or is_interval or (literal.operator == "=" and self.attribute.ordered):
                continue
            known |= {extent, extent.complement()}
            divisions[place] = extent
        return divisions

    def coarse_divisions(self, every: int) -> Mapping[int, Extent]:
        """Return the divisions with every `every`-th cut point only, the first included.

        Attributes with at most `FEW_CUTS` cut points keep all of them.
        """
        literals = self.literals(negations=False)
        cut_points = {place: literals[place].operands for place in self.divisions if literals[place].operator in _CUTS}
        different = list(dict.fromkeys(cut_points.values()))
        kept = set(different if len(different) <= FEW_CUTS else different[::every])
        return {
            place: extent
            for place, extent in self.divisions.items()
            if place not in cut_points or cut_points[place] in kept
        }


@lru_cache(maxsize=8)  # a fit or a plan needs the shapes of its schema many times
def literal_shapes(schema: Schema) -> Mapping[Hashable, LiteralShape]:
    """Return the shapes of the literals of a schema by the `form` of their attributes."""
    forms = schema.forms.items()
    return {form: LiteralShape(kind, reachable(schema, kind), times) for form, (kind, times) in forms}


def reachable(schema: Schema, attribute: Attribute) -> Attribute:
    """Return an attribute without the bins that no row can be in, about which rules would be useless."""
    if attribute.outside == "bin" and FROM_ROWS in schema.no_guarantee:
        return replace(attribute, outside="error")
    return attribute


def check_candidates(schema: Schema, max_literals: int, *, negations: bool = True) -> int:
    size = count_candidates(schema, max_literals, negations=negations)
    if size > MOST_CANDIDATES:
        literals = longest_candidate(schema, max_literals, negations=negations)
        problem = f"{size:,} candidate rules of up to {literals} literals are more than the {MOST_CANDIDATES:,}"
        advice = "Use a smaller max_literals, negations=False, or fewer cut points or values."
        raise SchemaError(f"{problem} that can be searched. {advice}")
    if size == 0:
        problem = "the schema has no literal, so no rule can be learned"
        raise SchemaError(f"{problem}; remove `cuts: []`, or add attributes.")
    return size


@dataclass(frozen=True, eq=False, repr=False)
class Candidates(Sequence[Antecedent]):
    """The candidate antecedents of a schema, shortest first. Their support in private data has no influence on them.

    Attributes
    ----------
    negations : bool
        Whether the literals include negations.
    sizes : tuple of int
        The number of literals on each attribute.
    members : tuple of ndarray of int
        For each length k, starting with 1, the literals of the candidates of this length, shape ``(n_k, k)``,
        increasing in each row.
    """

    schema: Schema
    negations: bool
    sizes: tuple[int, ...]
    members: tuple[NDArray[np.int32], ...]

    @classmethod
    def of(cls, schema: Schema, max_literals: int, *, negations: bool = True) -> "Candidates":
        """Return the candidates of up to `max_literals` literals; SchemaError if there are none or too many."""
        check_integer("max_literals", max_literals, 1)
        check_candidates(schema, int(max_literals), negations=negations)
        max_literals = longest_candidate(schema, int(max_literals), negations=negations)
        shapes = literal_shapes(schema).items()
        size_of = {form: shape.count_literals(negations=negations) for form, shape in shapes}
        sizes = tuple(size_of[attribute.form] for _, attribute in schema.attributes)
        next_attribute = np.repeat(np.cumsum(sizes), sizes)
        members = [np.arange(sum(sizes), dtype=np.int32)[:, None]]
        while len(members) < max_literals:
            members.append(_extend(members[-1], next_attribute))
        return cls(schema, negations, sizes, tuple(members))

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """All literals, attribute by attribute."""
        return tuple(literal for place in range(len(self.sizes)) for literal in self._literals_on(place))

    def _literal(self, index: int) -> Literal:
        place = bisect_right(self._ends, index)
        return self._literals_on(place)[index - self._ends[place]]  # counted from the last literal on the attribute

    @cached_property
    def _ends(self) -> list[int]:
        return np.cumsum(self.sizes).tolist()

    @cached_property
    def _literals_on(self) -> Callable[[int], tuple[Literal, ...]]:
        """Function that returns the literals on an attribute, which are created when they are first needed."""

        @cache
        def literals_on(place: int) -> tuple[Literal, ...]:
            name, attribute = self.schema.attributes[place]
            return reachable(self.schema, attribute).literals(name, negations=self.negations)

        return literals_on

    @cached_property
    def attribute_of(self) -> Integers:
        """The index of each literal's attribute, shape ``(n_literals,)``."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def truth_by_attribute(self) -> tuple[Mask, ...]:
        """The truth of the literals on each attribute on its bins, each of shape ``(n_literals, n_bins)``."""
        truth = {form: shape.truth(negations=self.negations) for form, shape in literal_shapes(self.schema).items()}
        return tuple(truth[attribute.form] for _, attribute in self.schema.attributes)

    @cached_property
    def truth(self) -> Mask:
        """The truth of each literal on the bins of all attributes in order, shape ``(n_literals, n_bins)``."""
        shapes = [part.shape for part in self.truth_by_attribute]
        truth = np.zeros(np.sum(shapes, axis=0), dtype=bool)
        ends = np.cumsum(shapes, axis=0)
        for part, (row, column) in zip(self.truth_by_attribute, ends, strict=True):
            truth[row - len(part) : row, column - part.shape[1] : column] = part
        return truth

    @cached_property
    def own_bins(self) -> Mask:
        """The bins of each literal's attribute, shape ``(n_literals, n_bins)``."""
        sizes = [attribute.n_bins for _, attribute in self.schema.attributes]
        return self.attribute_of[:, None] == np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def _starts(self) -> Integers:
        return np.cumsum([0, *(len(part) for part in self.members)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Antecedent:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        length = int(np.searchsorted(self._starts, index, side="right")) - 1
        return tuple(map(self._literal, self.members[length][index - self._starts[length]].tolist()))

    @cached_property
    def literal_implications(self) -> Mask:
        """Whether literal i implies literal j, since j is true on all bins of i; shape ``(n_literals, n_literals)``."""
        truth = self.truth.astype(np.float32)
        return truth @ (1 - truth.T) == 0

    @cached_property
    def implications(self) -> Mask:
        """Whether the schema alone shows that candidate i implies j, shape ``(n_candidates, n_candidates)``."""
        true = np.vstack([np.logical_or.reduce(self.literal_implications[part.T]) for part in self.members])
        return np.hstack([np.logical_and.reduce(true[:, part.T].swapaxes(0, 1)) for part in self.members])

    def implying(self, index: int) -> Mask:
        """Return which candidates imply the indexed candidate by the schema alone, shape ``(n_candidates,)``."""
        implied = [self.literal_implications[:, self.literals.index(literal)] for literal in self[index]]
        by_length = [np.logical_and.reduce([column[part].any(axis=1) for column in implied]) for part in self.members]
        return np.concatenate(by_length)


def _extend(members: NDArray[np.int32], next_attribute: Integers) -> NDArray[np.int32]:
    """Return every conjunction extended by every literal on a later attribute, shape ``(n, length + 1)``."""
    first = next_attribute[members[:, -1]]
    extensions = len(next_attribute) - first
    shift = np.repeat(first - np.cumsum(extensions) + extensions, extensions)
    added = np.arange(extensions.sum()) + shift
    return np.column_stack([np.repeat(members, extensions, axis=0), added]).astype(np.int32)
