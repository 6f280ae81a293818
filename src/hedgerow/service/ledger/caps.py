"""Caps of a dataset and of its analysts, in the currency in which the dataset's charges add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import ArgumentError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import amount_text, total
from hedgerow.text.messages import shown

WHOLE = ""
"""The name under which a dataset's own cap stands beside those of its analysts."""
_ALIKE = str.maketrans("01I|", "olll")  # with case, what looks alike in ASCII


def caps_data(account: Account) -> dict[str, Any]:
    """Return an account's caps as JSON-ready data without floats."""
    amounts = {"epsilon": account.epsilon, "delta": account.delta, "rho": account.rho}
    written = {name: None if amount is None else str(amount) for name, amount in amounts.items()}
    return {**written, "accounting": account.accounting}


def read_caps(data: Mapping[str, Any]) -> Account:
    """Read back what `caps_data` wrote; raises ValueError or KeyError for anything else."""
    amounts = {name: None if data[name] is None else parse_amount(data[name]) for name in ("epsilon", "delta", "rho")}
    delta = amounts["delta"] or Fraction(0)
    return Account(amounts["epsilon"], delta, rho=amounts["rho"], accounting=data["accounting"])


def check_names(names: Iterable[str], known: Iterable[str] = ()) -> None:
    """Check that names are ASCII, and that no two of them, or of those that are known, look alike."""
    seen = {_looks(name): name for name in known}
    for name in names:
        if not (0 < len(name) <= 200 and name.isascii() and name.isprintable()) or name != " ".join(name.split()):
            raise ArgumentError(
                f"expected names of 1 to 200 ASCII characters, with single spaces within, got {shown(name)}."
            )
        other = seen.setdefault(_looks(name), name)
        if other != name:
            raise ArgumentError(f"expected names that do not look alike, got {shown(other)} and {shown(name)}.")


def _looks(name: str) -> str:
    return name.translate(_ALIKE).casefold()


def check_shares(dataset: Account, analysts: Mapping[str, Account], *, oversubscribed: bool) -> None:
    """Check that analysts' caps are in the dataset's currency, and add up to no more than its own.

    Where charges add up in ρ, an analyst's cap is one on ρ alone. By ``accounting="zcdp"`` one analyst could else use
    up ε by addition, which is more ρ than the share, and others would be refused.
    """
    in_rho = dataset.largest_rho is not None
    check_names(analysts)
    for name, cap in analysts.items():
        if (cap.epsilon is None) != in_rho or cap.accounting != "basic":
            kind = "rho alone" if in_rho else "epsilon, with delta or without"
            raise ArgumentError(
                f"expected caps of analysts on {kind}, as the dataset's, got another for {shown(name)}."
            )
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
            f"expected caps of analysts that add up to at most {name}={amount_text(most, left=True)}, the cap of the "
            f"dataset, got {amount_text(whole)}. Lower them, or declare the dataset as oversubscribed: every card then "
            "says so."
        )
