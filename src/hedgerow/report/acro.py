"""Twin for output checkers: the findings as an entry of ACRO's ``results.json``, which SACRO's viewer shows.

The keys are those of ACRO 0.4 (github.com/AI-SDC/ACRO, acro/record.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow.report.contents import Sheet
from hedgerow.report.findings import BUCKETS, Bucket, Finding
from hedgerow.report.report import Report

VERSION = "0.4.0"
"""The version of the format, as SACRO's viewer writes it for files of other programs."""
_STATUS: dict[Bucket, str] = {"reject": "fail", "look": "review", "supports": "pass"}


def acro_results(report: Report, name: str) -> dict[str, Any]:
    """Return the findings of all sheets as the data of a ``results.json``; **private** if there is one for the board.

    Parameters
    ----------
    report : Report
        The report.
    name : str
        The name of the model's file, which is beside the ``results.json``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=data.schema).fit(data.frame, data.labels)
    >>> acro_results(hr.Report.of(clf), "model.json")["results"]["output_0"]["status"]
    'review'
    """
    sheets = _sheets(report)
    found = _findings(sheets)
    worst = BUCKETS[min(BUCKETS.index(one.bucket) for one in found)]  # every sheet has a finding on its guarantee
    status = _STATUS[worst]
    entry = {
        "uid": "output_0",
        "status": status,
        "type": "custom",
        "properties": {"method": "hedgerow report", "model": report.subject.kind},
        "files": [{"name": name, "sdc": {"summary": {"suppressed": False}, "cells": {}}}],
        "outcome": _columns(found),
        "command": "hedgerow report",
        "summary": "; ".join([status, *(one.sentence.rstrip(".") for one in found if one.bucket == worst)]),
        "timestamp": f"{report.public.date.isoformat()}T00:00:00",
        "comments": [sheet.title for sheet in sheets[:1]],
        "exception": "",
    }
    return {"version": VERSION, "results": {"output_0": entry}}


def _sheets(report: Report) -> tuple[Sheet, ...]:
    return (report.public,) if report.board is None else (report.public, report.board)


def _findings(sheets: Sequence[Sheet]) -> list[Finding]:
    """Return the findings of all sheets; of one that is on both, that of the last."""
    return list({one.key: one for sheet in sheets for one in sheet.findings}.values())


def _columns(found: Sequence[Finding]) -> dict[str, dict[str, Any]]:
    """Return findings column by column, as pandas writes a frame."""
    names = ("key", "bucket", "sentence", "threshold", "source", "value")
    return {name: {str(place): getattr(one, name) for place, one in enumerate(found)} for name in names}
