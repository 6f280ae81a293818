"""Records of the releases about a table: a budget file, or the export of a curator's ledger."""

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
from hedgerow.text.language import _
from hedgerow.text.messages import shown

LARGEST_LEDGER = 2**25  # the maximum number of bytes of a ledger's export
RecordKind = Literal["budget", "ledger"]
FAILED = "failed"  # the state of a release that was charged, but not answered


@dataclass(frozen=True)
class PastRelease:
    """A release on record: its charge, its time if known, and the digests of its models."""

    charge: Charge
    time: str = ""
    state: str = ""
    models: tuple[str, ...] = ()  # the content digests of the released files, if the record has them


@dataclass(frozen=True)
class Releases:
    """All releases of a table on record, in order.

    Failed releases are included, because charges are not refunded. `cap` is the cap on ε of the table, if there is one.
    `kind` is "budget" for a budget file or "ledger" for a ledger's export, and `dataset` names the dataset of a ledger.
    `entries` is the number of entries of the record. `head` is the hash of the last entry, which depends on all
    entries.
    """

    releases: tuple[PastRelease, ...]
    cap: Fraction | None
    kind: RecordKind = "budget"
    dataset: str = ""
    entries: int = 0
    head: str = ""

    @property
    def record(self) -> str:
        """The kind of record and the number of its entries, in words."""
        if self.kind == "budget":
            return _("a budget file with {entries} entries, a chain of hashes", entries=self.entries)
        return _("a ledger with {entries} entries, a chain of hashes", entries=self.entries)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The charges of all releases."""
        return tuple(release.charge for release in self.releases)

    @property
    def by_unit(self) -> "dict[Unit | None, Releases]":
        """The releases of each unit of privacy (at least one unit); the losses of different units do not add up."""
        units = dict.fromkeys(charge.unit for charge in self.charges) or {None: None}
        by_unit = {unit: [release for release in self.releases if release.charge.unit == unit] for unit in units}
        return {unit: replace(self, releases=tuple(own)) for unit, own in by_unit.items()}

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
        """The sum of all ρ; None if it is not known for a charge."""
        return total_rho(self.charges)

    @classmethod
    def load(cls, path: str | PathLike[str], *, dataset: str | None = None) -> Self:
        """Read a record: a budget file, or a dataset of the output of ``hedgerow ledger export``.

        ValueError if it is neither, its entries were changed, or none of several datasets is selected; OSError if it
        cannot be read.
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
                raise ArgumentError(f"{path}: dataset is for ledgers only; this is a budget file, which has one table.")
            return cls._of_budget(Path(path))
        return cls._of_ledger(path, text.removesuffix("\n").split("\n"), dataset)

    @classmethod
    def _of_budget(cls, path: Path) -> Self:
        record = FileBudget(path).record
        models = [
            tuple(
                entry["model"] for entry in record.entries if entry["kind"] == "released" and entry["charge"] == number
            )
            for number in range(1, len(record.account.charges) + 1)
        ]
        dated = zip(record.account.charges, record.dates, models, strict=True)
        releases = tuple(PastRelease(charge, day, models=files) for charge, day, files in dated)
        return cls(releases, record.account.epsilon, "budget", entries=len(record.entries), head=record.head)

    @classmethod
    def _of_ledger(cls, path: str | PathLike[str], lines: Sequence[str], dataset: str | None) -> Self:
        problem = None
        try:
            entries, head = _chained(lines)
            chosen = _chosen({entry["dataset"] for entry in entries if "dataset" in entry}, dataset)
            releases, cap = _released(entries, chosen)
            return cls(releases, cap, "ledger", chosen, len(entries), head)
        except (UnreadableError, LedgerError, KeyError, TypeError, AttributeError):
            problem = "the file is neither a budget file nor the output of `hedgerow ledger export`"
        raise ModelFormatError(f"{path}: {problem}.")


def _chained(lines: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Return the entries of a ledger's export, which are a chain of hashes, and the last hash."""
    links = [(entry, hashed) for entry, _raw, hashed in map(imported, lines)]
    entries = [entry for entry, _hashed in links]
    if [entry["sequence"] for entry in entries] != [*range(1, len(links) + 1)] or broken_link(links) is not None:
        raise UnreadableError("the entries are not a chain")
    return entries, links[-1][1]


def _chosen(names: set[str], dataset: str | None) -> str:
    if not names:
        raise UnreadableError("no entry has a dataset")
    if dataset is None and len(names) == 1:
        return next(iter(names))
    if dataset in names:
        return dataset
    given = "none was given" if dataset is None else f"got {shown(dataset)}"
    raise ArgumentError(f"dataset must be one of the ledger's datasets ({', '.join(sorted(names))}); {given}.")


def _released(entries: Sequence[dict[str, Any]], dataset: str) -> tuple[tuple[PastRelease, ...], Fraction | None]:
    releases, cap = dict[str, PastRelease](), None
    for entry in entries:
        if entry["kind"] == "declared" and entry["dataset"] == dataset:
            stated = entry["cap"]["epsilon"]
            cap = None if stated is None else parse_amount(stated)
        elif entry["kind"] == "reserved" and entry["dataset"] == dataset:
            releases[entry["request"]] = PastRelease(Charge.parsed(entry["charge"]), entry["time"])
        elif entry["kind"] == "failed" and entry["request"] in releases:
            before = releases[entry["request"]]
            releases[entry["request"]] = PastRelease(before.charge, before.time, FAILED)
    return tuple(releases.values()), cap
