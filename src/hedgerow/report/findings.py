"""Findings of a report: what speaks for and against a release, each with its threshold and where that comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Bucket = Literal["reject", "look", "supports"]
"""What a finding says to a board: not as it is; look closer; it supports the release."""
BUCKETS: tuple[Bucket, ...] = ("reject", "look", "supports")
"""All buckets, the gravest first."""

TIERS = "Ponomareva et al., How to DP-fy ML, JAIR 77 (2023): three tiers of epsilon, up to 1, up to 10, and above"
"""Where the thresholds of ε come from."""
CRYPTIC_DELTA = (
    "Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section 2.3: a delta of the order of "
    "1/n permits to publish the whole rows of a few"
)
"""Where the threshold of δ comes from."""
RULE_OF_TEN = (
    "safe_threshold of ACRO's default.yaml, 10; the rule of 10 of the Australian Bureau of Statistics' DataLab"
)
"""Where the least rows of a leaf come from."""
CLASS_DISCLOSURE = (
    "class disclosure: Hundepool et al., Statistical Disclosure Control (2012); the structural attack of SACRO-ML"
)
"""Where the rule on leaves of one class comes from."""
DEFINITION = "the definition of differential privacy"
"""Where a threshold comes from that the guarantee itself sets."""
HOUSE = "this report: no published threshold is known"
"""Where a rule comes from that is hedgerow's own."""


@dataclass(frozen=True)
class Finding:
    """One reason for or against a release.

    Attributes
    ----------
    key : str
        Its name in JSON.
    section : str
        The key of the section that has the numbers.
    bucket : {"reject", "look", "supports"}
        What it says.
    sentence : str
        The finding in a plain sentence.
    threshold : str
        The rule that put it into its bucket.
    source : str
        Where the rule comes from.
    value : int, float or None
        The number that the rule was applied to.
    """

    key: str
    section: str
    bucket: Bucket
    sentence: str
    threshold: str
    source: str
    value: int | float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return dict(vars(self))
