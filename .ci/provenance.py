"""The provenance of a build: an in-toto statement (v1) with a predicate of SLSA (v1)."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import zlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
# The page of the sdist that describes this kind of build.
BUILD_TYPE = "pkg:pypi/hedgerow#docs/verify-release.md"
LOCAL_BUILDER = "pkg:pypi/hedgerow#.ci/rebuild.py"


def sha256(file: Path) -> str:
    """Return the SHA-256 of the bytes of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def digests(statement: dict) -> dict[str, str]:
    """Return the SHA-256 of each file that a statement is about, by its name."""
    return {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}


def commit_of(statement: dict) -> str | None:
    """Return the Git commit that a statement names as the source, or None."""
    materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    commits = (material.get("digest", {}).get("gitCommit") for material in materials)
    return next(filter(None, commits), None)


def requirements(locked: str) -> list[tuple[str, str]]:
    """Return name and version of each package of a file of requirements with hashes."""
    return re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", locked, re.MULTILINE)


def source(commit: str, path: str = "") -> dict[str, str]:
    """Return name and, if a workflow states the repository, address of the source or of one of its files."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    known = {"uri": f"git+{server}/{name}@{commit}{f'#{path}' if path else ''}"} if server and name else {}
    return {"name": path or "source of hedgerow", **known}


def builder() -> str:
    """Return the identity of the builder: the workflow, or the script if it runs outside of a workflow."""
    server, workflow = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_WORKFLOW_REF")
    return f"{server}/{workflow}" if server and workflow else LOCAL_BUILDER


def statement(
    files: Iterable[Path], commit: str, epoch: int, build_requirements: Path, started: datetime, finished: datetime
) -> dict:
    """Return the statement about built files: their digests, the source, the build's packages and the builder."""
    locked = build_requirements.read_text(encoding="utf-8")
    materials = [
        source(commit) | {"digest": {"gitCommit": commit}},
        source(commit, f".ci/{build_requirements.name}") | {"digest": {"sha256": sha256(build_requirements)}},
        *({"uri": f"pkg:pypi/{name}@{version}"} for name, version in requirements(locked)),
    ]
    definition = {
        "buildType": BUILD_TYPE,
        "externalParameters": {"commit": commit, "script": ".ci/rebuild.py"},
        "internalParameters": {"SOURCE_DATE_EPOCH": str(epoch)},
        "resolvedDependencies": materials,
    }
    times = {"startedOn": started, "finishedOn": finished}
    details = {
        "builder": {
            "id": builder(),
            "version": {"python": platform.python_version(), "zlib": zlib.ZLIB_RUNTIME_VERSION},
        },
        "metadata": {name: f"{time:%Y-%m-%dT%H:%M:%SZ}" for name, time in times.items()},
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": sha256(file)}} for file in sorted(files)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {"buildDefinition": definition, "runDetails": details},
    }
