"""Records of budget files: a hash chain of entries, and the account that follows from them."""

import json
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Self

from hedgerow.boundary.canonical import FIRST, broken_link, link_hash
from hedgerow.boundary.untrusted_text import check_plain, parse_json
from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import facts_from_list
from hedgerow.text.messages import describe_argument, shown
from hedgerow.text.values import printable

FORMAT = "hedgerow/budget"
VERSION = 3
LONGEST_TABLE = 200  # the maximum number of characters of a table's name
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Record:
    """The contents of a budget's file at one moment.

    Attributes
    ----------
    account : Account
        The caps, and all charges.
    entries : tuple of dict
        The events in order: ``opened``, ``charged``, ``void`` (the reasons why a charge has no guarantee) and
        ``released`` (the digest of the model that was charged). Every entry has its date and the hash of the entry
        before it.
    head : str
        The hash of the last entry.

    Examples
    --------
    >>> from fractions import Fraction
    >>> record = Record.opened(Account(Fraction(1)), table="wards")
    >>> record.entries[0]["kind"], record.entries[0]["table"], record.entries[0]["previous"]
    ('opened', 'wards', '')
    >>> record.after(record.account.charged(Charge("a model", Fraction(1, 2)))).account.remaining
    Fraction(1, 2)
    """

    account: Account
    entries: tuple[dict[str, Any], ...] = ()
    head: str = FIRST

    @classmethod
    def opened(cls, account: Account, table: str | None = None) -> Self:
        """Return the record of a new budget for a table of this name."""
        return cls(account)._with({"kind": "opened", **account.caps_dict(), **_table_entry(table)})

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """The hash of every entry."""
        return _hashes(self.entries, self.head)

    @property
    def table(self) -> str | None:
        """The name of the table, or None if it was not given."""
        return self.entries[0].get("table")

    @property
    def dates(self) -> tuple[str, ...]:
        """The dates of all charges, in UTC."""
        return tuple(entry["date"] for entry in self.entries if entry["kind"] == "charged")

    def after(self, account: Account) -> Self:
        """Return the record extended by the account's new charges and new reasons why charges are void."""
        before = self.account.charges
        record, after = self, account.charges[: len(before)]
        if after != before:
            for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
                if old != new:
                    record = record._with(
                        {"kind": "void", "charge": number, "void": [reason.to_dict() for reason in new.no_guarantee]}
                    )
        for charge in account.charges[len(before) :]:
            record = record._with({"kind": "charged", **charge.exact_dict(), **_table_entry(self.table)})
            if Charge.parsed(parse_json(_line(record.entries[-1]))) != charge:
                raise ArgumentError("the charge cannot be read back from a file. Nothing was charged.")
        return record._with_account(account)

    def released(self, number: int, model: str) -> Self:
        """Return the record with the digest of the model that charge `number`, from 1, paid for."""
        if not 1 <= number <= len(self.account.charges):
            raise ArgumentError(f"the number of a charge must be 1 to {len(self.account.charges)}, got {number}.")
        return self._with({"kind": "released", "charge": number, "model": _checked_digest(model)})

    def _with(self, entry: Mapping[str, Any]) -> Self:
        whole = {**entry, "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "previous": self.head}
        check_plain(whole)
        record = replace(self, entries=(*self.entries, whole), head=link_hash(whole))
        if self.entries:
            vars(record)["_lines"] = f"{self._lines},\n{_line(whole)}"
        return record

    def _with_account(self, account: Account) -> Self:
        """Return the record with an account, which must follow from its entries."""
        record = copy(self)
        vars(record)["account"] = account
        return record

    @cached_property
    def _lines(self) -> str:
        """The entries as lines of JSON. `_with` adds a line without writing the earlier lines again."""
        return ",\n".join(map(_line, self.entries))

    def to_dict(self) -> dict[str, Any]:
        """Return the record as the JSON-ready data of a file."""
        return {**self._first_keys, "entries": list(self.entries), "head": self.head}

    def to_json(self) -> str:
        """Return the text of a file: `to_dict` as JSON with an entry per line. The first line is a single brace."""
        start = json.dumps(self._first_keys).removeprefix("{").removesuffix("}")
        return f'{{\n{start},\n"entries": [\n{self._lines}\n],\n"head": {json.dumps(self.head)}\n}}\n'

    @property
    def _first_keys(self) -> dict[str, Any]:
        warning = {"warning": self.account.warning} if self.account.warning else {}
        return {"format": FORMAT, "version": VERSION, **warning}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a record that `to_dict` wrote.

        Raises
        ------
        ModelFormatError
            If the hash of an entry does not match.
        LedgerError, ValueError, KeyError, TypeError, AttributeError, IndexError
            If `data` is not a record, or has another version.
        """
        if type(data["version"]) is not int or data["version"] != VERSION:
            problem = f"expected version {VERSION} of {FORMAT}, got {shown(data['version'])}"
            raise ArgumentError(f"{problem}, written by another release of hedgerow; read it with that release")
        entries = data["entries"]
        number = broken_link(zip(entries, _hashes(entries, data["head"]), strict=False))
        if number is not None:
            raise ModelFormatError(f"entry {number} of its record or an adjacent entry was edited, removed or inserted")
        record = cls(_replayed(entries), tuple(entries), data["head"])
        _check_same(record.to_dict(), data)
        return record

    def __str__(self) -> str:
        number = len(self.entries)
        several = f"{number} entries in a hash chain; store the hash of the last entry elsewhere:"
        return f"{several if number > 1 else '1 entry; store its hash elsewhere:'}\n  {self.head}"


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry)


def _check_same(expected: object, data: object) -> None:
    if expected != data:
        raise ArgumentError("its entries contradict each other, or some are unknown")


def _hashes(entries: Sequence[Mapping[str, Any]], head: str) -> tuple[str, ...]:
    """Return the hash of every entry: an entry states the hash of its predecessor, and the file the last hash."""
    return (*(entry["previous"] for entry in entries[1:]), head)


def _replayed(entries: list[dict[str, Any]]) -> Account:
    first = _content(entries[0])
    account = Account.of_caps(first)
    _check_same({"kind": "opened", **account.caps_dict()}, first)
    charges = list[Charge]()
    for entry in map(_content, entries[1:]):
        _replay(entry, charges)
    return replace(account, charges=tuple(charges))


def _replay(entry: dict[str, Any], charges: list[Charge]) -> None:
    if entry["kind"] == "charged":
        charges.append(Charge.parsed(entry))
        _check_same({"kind": "charged", **charges[-1].exact_dict()}, entry)
        return
    number = entry["charge"]
    if type(number) is not int or not 1 <= number <= len(charges):
        raise ArgumentError("an entry refers to a charge that does not exist")
    if entry["kind"] == "void":
        why = facts_from_list(entry["void"], "reason")
        charges[number - 1] = replace(charges[number - 1], no_guarantee=why)
        _check_same({"kind": "void", "charge": number, "void": [reason.to_dict() for reason in why]}, entry)
    else:
        _check_same({"kind": "released", "charge": number, "model": _checked_digest(entry["model"])}, entry)


def _content(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry without its date, table and previous hash; checks the date and the table."""
    if not _DATE.fullmatch(entry["date"]):
        raise ArgumentError("a date does not have the form 2026-11-23T09:30:00Z")
    _table_entry(entry.get("table"))
    return {key: value for key, value in entry.items() if key not in ("date", "previous", "table")}


def _table_entry(table: object) -> dict[str, str]:
    if table is None:
        return {}
    if not isinstance(table, str) or not table or len(table) > LONGEST_TABLE or printable(table) != table:
        problem = f"table must be a name of 1 to {LONGEST_TABLE} printable characters, got {describe_argument(table)}."
        raise ArgumentError(problem)
    return {"table": table}


def _checked_digest(model: object) -> str:
    if isinstance(model, str) and _DIGEST.fullmatch(model):
        return model
    expected = 'the digest of a model must be the 64 hexadecimal digits of `model.to_dict()["digest"]`'
    raise ArgumentError(f"{expected}, got {describe_argument(model)}.")
