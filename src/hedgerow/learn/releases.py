"""The releases of a fit, described once: a fit makes these and no others.

A description is a small tree of public values. A `ReleaseRunner` walks it during the fit, `max_rho` is the largest ρ
of all ways through it, and the mechanisms of `extremes` are checked before the charge.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import StateError
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import Mechanism
from hedgerow.privacy.zcdp import pure_rho


@dataclass(frozen=True)
class PlannedRelease:
    """One release, or several alike one after the other."""

    kind: str  # the code of the query
    mechanism: Mechanism  # at the largest sensitivity
    times: int = 1
    takes_rest: bool = False  # whether it also takes what earlier releases could have cost, but did not
    max_rows: int | None = None  # the public row limit: a fit takes fewer rows

    @property
    def rho(self) -> Fraction:
        """The most that it costs in ρ, in any run."""
        return self.times * rho_of(self.mechanism)

    @property
    def extremes(self) -> Iterator["PlannedRelease"]:
        """The releases of the runs that cost most, or have the least ε for each."""
        yield self


@dataclass(frozen=True)
class Repeated:
    """Releases that are repeated, until an answer ends them or they were made `times` times."""

    releases: tuple[PlannedRelease, ...]
    times: int
    started: tuple[PlannedRelease, ...] = ()  # those that are left of a repetition that has begun

    @property
    def rho(self) -> Fraction:
        return self.times * max_rho(self.releases)

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        yield from self.releases


@dataclass(frozen=True)
class Branch:
    """Releases that depend on a decision, which follows from earlier answers."""

    decisions: Collection[Any]
    releases: Callable[[Any], "PlannedReleases"]
    worst: Collection[Any] = ()  # the decisions that cost most, or leave the least ε for each release; () for all

    @property
    def rho(self) -> Fraction:
        return max(max_rho(self.releases(one)) for one in self.worst or self.decisions)

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        for one in self.worst or self.decisions:
            yield from extremes(self.releases(one))


@dataclass(frozen=True)
class Nested:
    """Releases that earlier answers determine."""

    rho: Fraction  # the most that they cost in ρ
    example: "PlannedReleases"  # those whose mechanisms are checked before the charge

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        yield from extremes(self.example)


PlannedReleases = tuple[PlannedRelease | Repeated | Branch | Nested, ...]
"""Releases one after the other."""


def rho_of(mechanism: Mechanism) -> Fraction:
    """Return the ρ of a mechanism; if it declares none, the ρ that follows from its ε."""
    return pure_rho(mechanism.epsilon) if mechanism.rho is None else mechanism.rho


def max_rho(releases: PlannedReleases) -> Fraction:
    """Return the largest ρ of all ways through these releases."""
    return sum((node.rho for node in releases), Fraction(0))


def extremes(releases: PlannedReleases) -> Iterator[PlannedRelease]:
    """Yield the releases of the runs that cost most, or have the least ε for each."""
    for node in releases:
        yield from node.extremes


class ReleaseRunner:
    """One way through a description: it makes the next release, and no other.

    Every release of a fit is made by it. It raises StateError, before anything is charged, for a release that is not
    the next one of the description, and for one that costs more.
    """

    def __init__(self, releases: PlannedReleases, gate: Gate) -> None:
        self._gate, self._left = gate, releases

    def decide(self, decision: Any) -> None:
        """Continue with the releases of a decision."""
        branch, rest = self._next(Branch, "a decision")
        if decision not in branch.decisions:
            raise StateError(f"Expected one of the described decisions, got {decision!r}.")
        self._left = (*branch.releases(decision), *rest)

    def nest(self, releases: PlannedReleases) -> None:
        """Continue with releases that earlier answers determine."""
        nested, rest = self._next(Nested, "nested releases")
        if max_rho(releases) > nested.rho:
            raise StateError("Expected nested releases that cost at most the described rho, got a larger rho.")
        self._left = (*releases, *rest)

    def mechanism(self, kind: str) -> Any:
        """Return the mechanism of the next release, which has to be of this kind."""
        release, _ = self._next(PlannedRelease, kind)
        mechanism: Any = release.mechanism
        if release.takes_rest:
            mechanism = replace(mechanism, epsilon=max(self._gate.remaining, mechanism.epsilon))
        return mechanism

    def release(
        self,
        answer: Callable[[], Any],
        query: Fact,
        mechanism: Mechanism | None = None,
        no_guarantee: Sequence[Fact] = (),
    ) -> Any:
        """Make the next release, which has to be of the kind of this query, and return its answer: see `Gate.release`.

        `mechanism` replaces the described one by one of the same type, with the same ε, that has no larger sensitivity
        and costs no more.
        """
        described = self.mechanism(query.code)
        if mechanism is not None and not _costs_no_more(mechanism, described):
            raise StateError(f"Expected a mechanism that costs no more than {described}, got {mechanism}.")
        release, rest = self._next(PlannedRelease, query.code)
        self._left = (replace(release, times=release.times - 1), *rest) if release.times > 1 else rest
        return self._gate.release(mechanism or described, answer, query=query, no_guarantee=no_guarantee)

    def finish(self) -> None:
        """Raise StateError if releases are left that no answer has ended."""
        if not all(isinstance(node, Repeated) for node in self._left):
            raise StateError("Expected all described releases to be made, but some are left.")

    def _next(self, of: Any, what: str) -> tuple[Any, PlannedReleases]:
        """Return the next node and those that follow it, past repetitions that an answer has ended."""
        left = self._left
        while left and isinstance(repeated := left[0], Repeated):
            inside, times = repeated.started, repeated.times
            if not inside and times:
                inside, times = repeated.releases, times - 1
            if inside and of is PlannedRelease and inside[0].kind == what:
                return inside[0], (replace(repeated, started=inside[1:], times=times), *left[1:])
            left = left[1:]
        node: Any = left[0] if left else None
        if isinstance(node, of) and (of is not PlannedRelease or node.kind == what):
            return node, left[1:]
        raise StateError(f"Expected a release that is described next, got {what}.")


_NARROWED = "sensitivity", "changes", "weight"  # what earlier answers may make smaller, or larger, at no more cost


def _costs_no_more(mechanism: Any, described: Any) -> bool:
    """Return whether a mechanism is the described one, but for a smaller sensitivity or a larger weight of a draw."""
    if type(mechanism) is not type(described):
        return False
    declared = {field.name: getattr(described, field.name) for field in fields(described) if field.name in _NARROWED}
    return (
        replace(mechanism, **declared) == described
        and rho_of(mechanism) <= rho_of(described)
        and mechanism.sensitivity <= described.sensitivity
    )
