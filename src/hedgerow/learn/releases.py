"""The releases of a fit, described once; a fit can make no other release.

The description is a small tree of public values. A `ReleaseRunner` follows it during the fit, `max_rho` is the largest
ρ of all paths through it, and the mechanisms of `extremes` are checked before the charge.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from hedgerow.errors import StateError
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import Mechanism
from hedgerow.privacy.zcdp import pure_rho


@dataclass(frozen=True)
class PlannedRelease:
    """One release, or several consecutive releases of the same kind."""

    kind: str  # the code of the query
    mechanism: Mechanism  # at the largest sensitivity
    times: int = 1
    takes_rest: bool = False  # whether it also takes the unused ε of earlier releases
    max_rows: int | None = None  # the public row limit: a fit takes fewer rows

    @property
    def rho(self) -> Fraction:
        """The largest ρ of any run."""
        return self.times * rho_of(self.mechanism)

    @property
    def extremes(self) -> Iterator["PlannedRelease"]:
        """The releases of the runs with the largest cost, or the smallest ε for each release."""
        yield self


@dataclass(frozen=True)
class Repeated:
    """Releases that are repeated up to `times` times, or until an answer ends them."""

    releases: tuple[PlannedRelease, ...]
    times: int
    started: tuple[PlannedRelease, ...] = ()  # the remaining releases of the current repetition

    @property
    def rho(self) -> Fraction:
        return self.times * max_rho(self.releases)

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        yield from self.releases


@dataclass(frozen=True)
class Branch:
    """Releases that depend on a decision, which earlier answers determine."""

    decisions: Collection[Any]
    releases: Callable[[Any], "PlannedReleases"]
    worst: Collection[Any] = ()  # decisions with the largest cost or the smallest ε for each release; () for all

    @cached_property
    def _of_worst(self) -> list["PlannedReleases"]:
        return [self.releases(decision) for decision in self.worst or self.decisions]

    @property
    def rho(self) -> Fraction:
        return max(map(max_rho, self._of_worst))

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        for releases in self._of_worst:
            yield from extremes(releases)


@dataclass(frozen=True)
class Nested:
    """Releases that earlier answers determine."""

    rho: Fraction  # their largest ρ
    example: "PlannedReleases"  # releases whose mechanisms are checked before the charge

    @property
    def extremes(self) -> Iterator[PlannedRelease]:
        yield from extremes(self.example)


PlannedReleases = tuple[PlannedRelease | Repeated | Branch | Nested, ...]
"""Consecutive releases."""


def rho_of(mechanism: Mechanism) -> Fraction:
    """Return the ρ of a mechanism, by default the ρ that follows from its ε."""
    return pure_rho(mechanism.epsilon) if mechanism.rho is None else mechanism.rho


def max_rho(releases: PlannedReleases) -> Fraction:
    """Return the largest ρ of all paths through these releases."""
    return sum((node.rho for node in releases), Fraction(0))


def extremes(releases: PlannedReleases) -> Iterator[PlannedRelease]:
    """Yield the releases of the runs with the largest cost, or the smallest ε for each release."""
    for node in releases:
        yield from node.extremes


class ReleaseRunner:
    """Runner of the planned releases of a fit.

    It raises StateError, before the charge, if a release is not the next planned release or costs more than planned.
    """

    def __init__(self, releases: PlannedReleases, gate: Gate) -> None:
        self._gate, self._remaining = gate, releases

    def decide(self, decision: Any) -> None:
        """Continue with the releases of a decision."""
        branch, rest = self._next(Branch, "a decision")
        if decision not in branch.decisions:
            raise StateError(f"Expected a planned decision, got {decision!r}.")
        self._remaining = (*branch.releases(decision), *rest)

    def nest(self, releases: PlannedReleases) -> None:
        """Continue with releases that earlier answers determine."""
        nested, rest = self._next(Nested, "nested releases")
        if max_rho(releases) > nested.rho:
            raise StateError(f"Expected nested releases with rho at most {nested.rho}, got {max_rho(releases)}.")
        self._remaining = (*releases, *rest)

    def mechanism(self, kind: str) -> Any:
        """Return the mechanism of the next release, which must be of this kind."""
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
        """Make the next release, which must be of the kind of this query, and return its answer (see `Gate.release`).

        `mechanism` may replace the planned mechanism by one of the same type and ε that is no more sensitive and costs
        no more.
        """
        planned = self.mechanism(query.code)
        if mechanism is not None and not _costs_no_more(mechanism, planned):
            raise StateError(f"Expected a mechanism that costs no more than {planned}, got {mechanism}.")
        release, rest = self._next(PlannedRelease, query.code)
        self._remaining = (replace(release, times=release.times - 1), *rest) if release.times > 1 else rest
        return self._gate.release(mechanism or planned, answer, query=query, no_guarantee=no_guarantee)

    def finish(self) -> None:
        """Raise StateError if planned releases were not made, except repetitions."""
        if not all(isinstance(node, Repeated) for node in self._remaining):
            raise StateError("Expected all planned releases to be made, but some are missing.")

    def _next(self, kind: Any, code: str) -> tuple[Any, PlannedReleases]:
        """Return the next node of a kind and the nodes after it, skipping repetitions that an answer has ended."""
        remaining = self._remaining
        while remaining and isinstance(repeated := remaining[0], Repeated):
            inside, times = repeated.started, repeated.times
            if not inside and times:
                inside, times = repeated.releases, times - 1
            if inside and kind is PlannedRelease and inside[0].kind == code:
                return inside[0], (replace(repeated, started=inside[1:], times=times), *remaining[1:])
            remaining = remaining[1:]
        node: Any = remaining[0] if remaining else None
        if isinstance(node, kind) and (kind is not PlannedRelease or node.kind == code):
            return node, remaining[1:]
        raise StateError(f"Expected the next planned release, got {code}.")


_NARROWED = "sensitivity", "changes", "weight"  # fields that earlier answers may change, if that costs no more


def _costs_no_more(mechanism: Any, planned: Any) -> bool:
    """Return whether a mechanism equals the plan, except for a smaller sensitivity or a larger weight of a draw."""
    if type(mechanism) is not type(planned):
        return False
    declared = {field.name: getattr(planned, field.name) for field in fields(planned) if field.name in _NARROWED}
    return (
        replace(mechanism, **declared) == planned
        and rho_of(mechanism) <= rho_of(planned)
        and mechanism.sensitivity <= planned.sensitivity
    )
