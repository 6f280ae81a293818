"""Caps of datasets and analysts in the ledger's database, with the totals of their charges."""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.boundary.canonical import canonical
from hedgerow.errors import ArgumentError, LedgerError
from hedgerow.privacy.account import Account
from hedgerow.privacy.amounts import amount_text, amounts_data, read_amounts, total
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.unit import Unit
from hedgerow.service.ledger.tables import CAPS, TOTALS
from hedgerow.text.messages import shown

WHOLE = ""  # the name of a dataset's own cap among the caps of its analysts
_ALIKE = str.maketrans("01I|", "olll")  # ASCII characters that look alike, in addition to case


def check_names(names: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raise `ArgumentError` unless names are ASCII and do not look like each other or like known names."""
    seen = {_looks(name): name for name in known}
    for name in names:
        if not (0 < len(name) <= 200 and name.isascii() and name.isprintable()) or name != " ".join(name.split()):
            problem = "a name must have 1 to 200 printable ASCII characters, without repeated or outer spaces"
            raise ArgumentError(f"{problem}, got {shown(name)}.")
        other = seen.setdefault(_looks(name), name)
        if other != name:
            raise ArgumentError(f"the names {shown(other)} and {shown(name)} look alike; change one of them.")


def _looks(name: str) -> str:
    return name.translate(_ALIKE).casefold()


def check_shares(dataset: Account, analysts: Mapping[str, Account], *, oversubscribed: bool) -> None:
    """Raise `ArgumentError` unless analysts' caps have the dataset's currency and their sum is within its cap.

    If charges add up in ρ, an analyst's cap must be on ρ alone. With a cap on ε, an analyst could use more ρ than the
    share, and questions of other analysts would exceed the cap of the dataset.
    """
    in_rho = dataset.largest_rho is not None
    check_names(analysts)
    for name, cap in analysts.items():
        if (cap.epsilon is None) != in_rho or cap.accounting != "basic":
            kind = "rho alone" if in_rho else "epsilon, with or without delta"
            raise ArgumentError(f"the cap of {shown(name)} must be on {kind}, like the cap of the dataset.")
    if oversubscribed:
        return
    if in_rho:
        _check_sum("rho", dataset.largest_rho, [cap.rho for cap in analysts.values()])
    else:
        _check_sum("epsilon", dataset.epsilon, [cap.epsilon for cap in analysts.values()])
        _check_sum("delta", dataset.delta, [cap.delta for cap in analysts.values()])


def _check_sum(name: str, most: Fraction | None, parts: list[Fraction | None]) -> None:
    whole = total(part for part in parts if part is not None)
    if most is not None and whole > most:
        raise ArgumentError(
            f"the caps of analysts add up to {name}={amount_text(whole)}, above the cap of the dataset, "
            f"{amount_text(most, left=True)}. Lower them, or set oversubscribed: true, which every privacy card states."
        )


_DATASET, _EPOCH, _ANALYST = (sa.bindparam(f"of_{name}") for name in ("dataset", "epoch", "analyst"))
_LAST_EPOCH = sa.select(sa.func.max(CAPS.c.epoch)).where(CAPS.c.dataset == _DATASET)
_HAS_CAP = sa.select(CAPS.c.epoch).where(
    CAPS.c.dataset == _DATASET, CAPS.c.analyst == _ANALYST, CAPS.c.epoch == _LAST_EPOCH.scalar_subquery()
)
_ACCOUNT = (
    sa.select(CAPS.c.caps, TOTALS.c.epsilon, TOTALS.c.delta, TOTALS.c.rho)
    .join_from(CAPS, TOTALS, sa.and_(*(CAPS.c[name] == TOTALS.c[name] for name in ("dataset", "epoch", "analyst"))))
    .where(CAPS.c.dataset == _DATASET, CAPS.c.epoch == _EPOCH, CAPS.c.analyst == _ANALYST)
)
_SET = TOTALS.update().where(TOTALS.c.dataset == _DATASET, TOTALS.c.epoch == _EPOCH, TOTALS.c.analyst == _ANALYST)


def current_epoch(connection: Connection, dataset: str) -> int | None:
    return connection.execute(_LAST_EPOCH, {"of_dataset": dataset}).scalar_one()


def shares_of(connection: Connection, dataset: str, epoch: int) -> dict[str, Account]:
    """Return the caps of an epoch with their charges, by analyst; the dataset's own cap under `WHOLE`."""
    owned = sa.select(CAPS.c.analyst).where(CAPS.c.dataset == dataset, CAPS.c.epoch == epoch)
    names = connection.execute(owned.order_by(CAPS.c.analyst)).scalars()
    return {name: account_of(connection, dataset, epoch, name) for name in list(names)}


def make_caps(connection: Connection, dataset: str, epoch: int, caps: Mapping[str, dict[str, Any]]) -> None:
    for analyst, data in caps.items():
        owner = {"dataset": dataset, "epoch": epoch, "analyst": analyst}
        connection.execute(CAPS.insert(), {**owner, "caps": canonical(data)})
        connection.execute(TOTALS.insert(), {**owner, "epsilon": "0", "delta": "0", "rho": "0"})


def has_cap(connection: Connection, dataset: str, analyst: str) -> bool:
    return connection.execute(_HAS_CAP, {"of_dataset": dataset, "of_analyst": analyst}).first() is not None


def check_unit(connection: Connection, dataset: str, epoch: int, unit: Unit | None) -> None:
    """Raise `LedgerError` for another unit of privacy: charges per row and per person cannot be added."""
    row = connection.execute(_ACCOUNT, _owner(dataset, epoch, WHOLE)).one()
    declared = json.loads(row.caps).get("unit")
    if declared != (None if unit is None else unit.to_dict()):
        problem = f"the epoch of {shown(dataset)} was declared with a different unit of privacy."
        raise LedgerError(f"{problem} For new rows, start a new epoch: hedgerow serve epoch NAME --reason TEXT.")


def account_of(connection: Connection, dataset: str, epoch: int, analyst: str) -> Account:
    row = connection.execute(_ACCOUNT, _owner(dataset, epoch, analyst)).mappings().one_or_none()
    if row is None:
        raise LedgerError(f"the analyst has no cap for {shown(dataset)}.")
    caps, spent = _read(row["caps"]), all_so_far(**read_amounts(row))
    return Account(caps.epsilon, caps.delta, spent, caps.rho, caps.accounting)


def set_total(connection: Connection, dataset: str, epoch: int, analyst: str, account: Account) -> None:
    spent = amounts_data(account.spent, account.spent_delta, account.spent_rho)
    connection.execute(_SET, {**_owner(dataset, epoch, analyst), **spent})


def all_so_far(epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> tuple[Charge, ...]:
    """Return a total as a charge; if its δ is at least 1, as several, since a charge has δ < 1."""
    half = Fraction(1, 2)
    halves = ceil(delta / half) - 1 if delta >= 1 else 0
    rest = Charge(Fact("all_so_far"), epsilon, delta - halves * half, rho=rho)
    return rest, *[Charge(Fact("all_so_far"), Fraction(0), half, rho=Fraction(0))] * halves


@lru_cache(maxsize=1024)
def _read(caps: str) -> Account:
    """Return the caps of an epoch, which do not change, as an account without charges."""
    return Account.of_caps(json.loads(caps))


def _owner(dataset: str, epoch: int, analyst: str) -> dict[str, Any]:
    return {"of_dataset": dataset, "of_epoch": epoch, "of_analyst": analyst}
