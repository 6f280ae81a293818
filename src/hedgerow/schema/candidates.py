"""Candidate antecedents: all conjunctions of up to `max_literals` literals over different attributes; public."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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
    """Return the most literals of a candidate: of `max_literals`, no more than attributes that have literals."""
    shapes = literal_shapes(schema).values()
    return min(max_literals, sum(shape.times for shape in shapes if shape.count_literals(negations=negations)))


@dataclass(frozen=True)
class LiteralShape:
    """Attributes whose literals are alike."""

    attribute: Attribute  # one of them
    reachable: Attribute  # the same without the bins that no row can be in
    times: int  # the number of attributes

    def literals(self, *, negations: bool) -> tuple[Literal, ...]:
        """Return the literals on one of the attributes, without its name."""
        return self.reachable.literals("", negations=negations)

    def count_literals(self, *, negations: bool) -> int:
        """Return the number of these literals."""
        return self.reachable.count_literals(negations=negations)

    @cached_property
    def divisions(self) -> Mapping[int, Extent]:
        """The places of the literals that divide rows differently: of two complements the first."""
        # Numbers and ordered values have no test "between" or "=", which are equivalent to two nested ones.
        found: dict[int, Extent] = {}
        seen = set[Extent]()
        for place, literal in enumerate(self.literals(negations=False)):
            extent, is_interval = self.attribute.extent(literal), literal.operator == "between"
            if extent in seen or is_interval or (literal.operator == "=" and self.attribute.ordered):
                continue
            seen |= {extent, extent.complement()}
            found[place] = extent
        return found


@lru_cache(maxsize=8)  # a fit or a plan asks for those of its schema many times
def literal_shapes(schema: Schema) -> Mapping[Hashable, LiteralShape]:
    """Return the shapes of the literals of a schema, by the form of their attributes."""
    return {form: LiteralShape(one, reachable(schema, one), times) for form, (one, times) in schema.forms.items()}


def reachable(schema: Schema, attribute: Attribute) -> Attribute:
    """Return an attribute without the bins that no row can be in: a rule about them would say nothing."""
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
        problem = "expected a schema with at least one literal, got none"
        raise SchemaError(f"{problem}; leave out `cuts: []`, or add attributes.")
    return size


@dataclass(frozen=True, eq=False, repr=False)
class Candidates(Sequence[Antecedent]):
    """The candidate antecedents of a schema, shortest first; never filtered by their support in private data.

    Attributes
    ----------
    literals : tuple of Literal
        All literals, attribute by attribute.
    members : tuple of ndarray of int
        For each length k from 1, shape ``(n_k, k)``: the literals of each candidate of this length, increasing.
    """

    schema: Schema
    literals: tuple[Literal, ...]
    members: tuple[NDArray[np.int32], ...]

    @classmethod
    def of(cls, schema: Schema, max_literals: int, *, negations: bool = True) -> "Candidates":
        """Build the candidates of up to `max_literals` literals; SchemaError if there are none, or too many to hold."""
        check_integer("max_literals", max_literals, 1)
        check_candidates(schema, int(max_literals), negations=negations)
        max_literals = longest_candidate(schema, int(max_literals), negations=negations)
        kinds = {name: reachable(schema, one) for name, one in schema.attributes}
        by_attribute = [attribute.literals(name, negations=negations) for name, attribute in kinds.items()]
        sizes = [len(part) for part in by_attribute]
        next_attribute = np.repeat(np.cumsum(sizes), sizes)
        members = [np.arange(sum(sizes), dtype=np.int32)[:, None]]
        while len(members) < max_literals:
            members.append(_extend(members[-1], next_attribute))
        return cls(schema, tuple(literal for part in by_attribute for literal in part), tuple(members))

    @cached_property
    def truth(self) -> Mask:
        """On which bins each literal is true, shape ``(n_literals, n_bins)``: bins of all attributes in order."""
        ends = np.cumsum([attribute.n_bins for _, attribute in self.schema.attributes]).tolist()
        bins = {name: slice(end - self.schema[name].n_bins, end) for name, end in zip(self.schema, ends, strict=True)}
        truth = np.zeros((len(self.literals), ends[-1]), dtype=bool)
        for row, literal in zip(truth, self.literals, strict=True):
            row[bins[literal.attribute]] = self.schema[literal.attribute].truth(literal)
        return truth

    @cached_property
    def own_bins(self) -> Mask:
        """The bins of each literal's attribute, shape ``(n_literals, n_bins)``."""
        sizes = [len(attribute.bins) for _, attribute in self.schema.attributes]
        attribute_of_bin = np.repeat(np.arange(len(sizes)), sizes)
        attribute_of_literal = [self.schema.names.index(literal.attribute) for literal in self.literals]
        return np.array(attribute_of_literal)[:, None] == attribute_of_bin

    @cached_property
    def _starts(self) -> Integers:
        return np.cumsum([0, *(len(part) for part in self.members)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Antecedent:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)
        length = int(np.searchsorted(self._starts, index, side="right")) - 1
        return tuple(self.literals[i] for i in self.members[length][index - self._starts[length]])

    @cached_property
    def literal_implications(self) -> Mask:
        """True where literal i implies literal j: no bin is in i and not in j. Shape ``(n_literals, n_literals)``."""
        truth = self.truth.astype(np.float32)
        return truth @ (1 - truth.T) == 0

    @cached_property
    def implications(self) -> Mask:
        """True where candidate i implies candidate j, by the schema alone, shape ``(n_candidates, n_candidates)``."""
        true = np.vstack([np.logical_or.reduce(self.literal_implications[part.T]) for part in self.members])
        return np.hstack([np.logical_and.reduce(true[:, part.T].swapaxes(0, 1)) for part in self.members])

    def implying(self, index: int) -> Mask:
        """Return which candidates imply the given one by the schema alone, itself too, shape ``(n_candidates,)``."""
        implied = [self.literal_implications[:, self.literals.index(literal)] for literal in self[index]]
        found = [np.logical_and.reduce([one[part].any(axis=1) for one in implied]) for part in self.members]
        return np.concatenate(found)


def _extend(members: NDArray[np.int32], next_attribute: Integers) -> NDArray[np.int32]:
    """Return every conjunction extended by every literal on a later attribute, shape ``(n, length + 1)``."""
    first = next_attribute[members[:, -1]]
    extensions = len(next_attribute) - first
    shift = np.repeat(first - np.cumsum(extensions) + extensions, extensions)
    added = np.arange(extensions.sum()) + shift
    return np.column_stack([np.repeat(members, extensions, axis=0), added]).astype(np.int32)
