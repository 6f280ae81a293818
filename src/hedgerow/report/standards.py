"""Standards onto which records map: SATRE's statements on output management, and ACRO's statuses and risks."""

from hedgerow.report.checks import Status

SATRE_VERSION = "2.0.1"
SATRE: dict[str, tuple[str, ...]] = {
    "3.3.01": ("object", "guarantee", "status"),
    "3.3.02": ("object", "checks"),
    "3.3.03": ("request",),
    "3.3.04": ("appetite", "checks", "not_examined"),
    "3.3.05": ("decision",),
    "3.3.06": ("guarantee", "checks", "attacks"),
    "3.3.07": ("guarantee", "attacks", "not_examined"),
    "3.3.08": ("checks", "decision"),
    "3.3.09": ("software", "object", "inputs", "ledger", "appetite", "checks", "sheets"),
}
"""The parts of a record that serve each statement of SATRE's capability 3.3, Output Management."""

ACRO_VERSION = "0.4.0"  # the version of the format, as SACRO's viewer writes it for files of other programs
ACRO_STATUS: dict[Status, str] = {
    "fail": "fail",
    "not_run": "review",
    "review": "review",
    "pass": "pass",
    "not_applicable": "pass",
}
"""The status of each status of a check in ACRO, which has three."""

RISKS: dict[str, tuple[str, ...]] = {
    "small-leaves": ("LowCount",),
    "small-bins": ("LowCount",),
    "units": ("LowCount",),
    "second-units": ("LowCount", "Dominance"),
    "joint-cells": ("LowCount",),
    "known-rows": ("LowCount",),
    "pure-leaves": ("ClassDisclosure",),
    "pure-bins": ("ClassDisclosure",),
    "few-of-class": ("ClassDisclosure", "LowCount"),
    "dominance": ("Dominance",),
    "releases": ("Differencing",),
    "editions": ("Differencing", "ClassDisclosure", "LowCount"),
    "record": ("Differencing",),
    "file-extremes": ("ClassDisclosure", "LowCount"),
    "declared-values": ("LowCount",),
}
"""The risks of ACRO's ontology (acro/risks.json of version 1.0.1) that checks are about, by the key of the check."""
_ONTOLOGY = "https://www.w3id.org/statbarnsdc#"


def risks_of(key: str) -> list[str]:
    """Return the addresses of the risks that a check concerns; empty if ACRO lists no such risk."""
    return [f"{_ONTOLOGY}{risk}" for risk in RISKS.get(key, ())]
