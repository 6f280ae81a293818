"""Requests, and datasets with caps, for tests of the ledger."""

from fractions import Fraction

from hedgerow.boundary.canonical import digest
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger.ledger import ChargeRequest

SHARES = {"ana": Account(Fraction(1)), "bob": Account(Fraction(2))}


def declare(ledger, cap=3, shares=SHARES, **more):
    """Declare a dataset of which two analysts have a share."""
    return ledger.declare("wards", Account(Fraction(cap)), shares, reason="the rows of 2026", **more)


def asked(key, epsilon=Fraction(1, 4), analyst="ana", body="what", dataset="wards", **more):
    """Return a request."""
    return ChargeRequest(dataset, analyst, key, digest(body), Charge("rows by bin", Fraction(epsilon), **more))
