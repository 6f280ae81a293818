"""Records of what was released about a table: a budget's file, or the export of a curator's ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from hedgerow.boundary.canonical import broken_link, imported
from hedgerow.boundary.untrusted_text import parse_amount, read_text
from hedgerow.errors import ArgumentError, LedgerError, ModelFormatError, UnreadableError
from hedgerow.privacy.amounts import total
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.charge import Charge, total_rho, unit_of
from hedgerow.privacy.unit import Unit
from hedgerow.text.messages import shown

LARGEST_LEDGER = 2**25  # the most bytes of a ledger's export
RecordKind = Literal["budget", "ledger"]
_KINDS: dict[RecordKind, str] = {"budget": "a budget file", "ledger": "a ledger"}
FAILED = "failed: charged, and not answered"  # the state of a release that was charged and never left


@dataclass(frozen=True)
class PastRelease:
    """One release that a record names: when, where that is known, and what it cost."""

    charge: Charge
    time: str = ""
    state: str = ""
    models: tuple[str, ...] = ()  # the digests of the files that it was for, where the record has them


@dataclass(frozen=True)
class Releases:
    """All releases of a table that a record names, in order.

    Those that failed are included, since a charge is not refunded. `cap` is the cap on ε of the table, if there is one;
    `kind` is "budget" for a budget file or "ledger" for a ledger's export; `dataset` names the dataset of a ledger.
    `entries` is the number of entries of the record, and `head` the hash of the last entry, which depends on all of
    them.
    """

    releases: tuple[PastRelease, ...]
    cap: Fraction | None
    kind: RecordKind = "budget"
    dataset: str = ""
    entries: int = 0
    head: str = ""

    @property
    def record(self) -> str:
        """The kind of record, and the number of its entries, in words."""
        return f"{_KINDS[self.kind]} of {self.entries} entries, each with the hash of the one before"

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges of all releases."""
        return tuple(release.charge for release in self.releases)

    @property
    def by_unit(self) -> "dict[Unit | None, Releases]":
        """The releases of each unit of privacy; one entry at least. The losses of different units do not add up."""
        units = dict.fromkeys(charge.unit for charge in self.charges) or {None: None}
        return {x: replace(self, releases=tuple(one for one in self.releases if one.charge.unit == x)) for x in units}

    @property
    def epsilon(self) -> Fraction:
        """The sum of all ε; ValueError if charges are of different units."""
        unit_of(self.charges)
        return total(charge.epsilon for charge in self.charges)

    @property
    def delta(self) -> Fraction:
        """The sum of all δ."""
        return total(charge.delta for charge in self.charges)

    @property
    def rho(self) -> Fraction | None:
        """The sum of all ρ; None where that of one is not known."""
        return total_rho(self.charges)

    @classmethod
    def load(cls, path: str | PathLike[str], *, dataset: str | None = None) -> Self:
        """Read a record: a budget file, or what ``hedgerow ledger export`` wrote, where `dataset` is one of several.

        ValueError if it is neither, its entries are not what was written, or none of several datasets is chosen;
        OSError if it cannot be read.
        """
        problem, text = None, ""
        try:
            text = read_text(path, LARGEST_LEDGER)
        except UnreadableError as error:
            problem = str(error)
        if problem:
            raise ModelFormatError(f"{path}: {problem}.")
        if text.startswith("{\n"):  # as `Record.to_json` writes a budget; an entry of a ledger is one line
            if dataset is not None:
                raise ArgumentError(
                    f"{path}: expected a ledger with dataset, got a budget file, which is of one table."
                )
            return cls._of_budget(Path(path))
        return cls._of_ledger(path, text.removesuffix("\n").split("\n"), dataset)

    @classmethod
    def _of_budget(cls, path: Path) -> Self:
        record = FileBudget(path).record
        models = [
            tuple(one["model"] for one in record.entries if one["kind"] == "released" and one["charge"] == number)
            for number in range(1, len(record.account.charges) + 1)
        ]
        dated = zip(record.account.charges, record.dates, models, strict=True)
        found = tuple(PastRelease(charge, day, models=files) for charge, day, files in dated)
        return cls(found, record.account.epsilon, "budget", entries=len(record.entries), head=record.head)

    @classmethod
    def _of_ledger(cls, path: str | PathLike[str], lines: Sequence[str], dataset: str | None) -> Self:
        problem = None
        try:
            entries, head = _chained(lines)
            chosen = _chosen({entry["dataset"] for entry in entries if "dataset" in entry}, dataset)
            found, cap = _released(entries, chosen)
            return cls(found, cap, "ledger", chosen, len(entries), head)
        except (UnreadableError, LedgerError, KeyError, TypeError, AttributeError):
            problem = "expected a budget file, or what `hedgerow ledger export` wrote; found other content"
        raise ModelFormatError(f"{path}: {problem}.")


def _chained(lines: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Return the entries of a ledger's export, each of which has the hash of the one before, and the last hash."""
    found = [(entry, hashed) for entry, _, hashed in map(imported, lines)]
    numbers = [entry["sequence"] for entry, _ in found]
    if numbers != [*range(1, len(found) + 1)] or broken_link(found) is not None:
        raise UnreadableError("expected entries that follow on one another")
    return [entry for entry, _ in found], found[-1][1]


def _chosen(names: set[str], dataset: str | None) -> str:
    if not names:
        raise UnreadableError("expected entries of a dataset, found none")
    if dataset is None and len(names) == 1:
        return next(iter(names))
    if dataset in names:
        return dataset
    got = "none chosen" if dataset is None else shown(dataset)
    raise ArgumentError(f"expected one of the ledger's datasets ({', '.join(sorted(names))}) as dataset, got {got}.")


def _released(entries: Sequence[dict[str, Any]], dataset: str) -> tuple[tuple[PastRelease, ...], Fraction | None]:
    found, cap = dict[str, PastRelease](), None
    for entry in entries:
        if entry["kind"] == "declared" and entry["dataset"] == dataset:
            stated = entry["cap"]["epsilon"]
            cap = None if stated is None else parse_amount(stated)
        elif entry["kind"] == "reserved" and entry["dataset"] == dataset:
            found[entry["request"]] = PastRelease(Charge.parsed(entry["charge"]), entry["time"])
        elif entry["kind"] == "failed" and entry["request"] in found:
            before = found[entry["request"]]
            found[entry["request"]] = PastRelease(before.charge, before.time, FAILED)
    return tuple(found.values()), cap
