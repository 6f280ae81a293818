"""Build the sdist and the wheel of a commit twice, under different conditions, and compare them byte by byte.

python .ci/rebuild.py dist --provenance provenance.json     builds HEAD into dist/, and writes how
python .ci/rebuild.py dist --expect provenance.json         builds HEAD, and compares it with a published release

The build environment holds the packages of .ci/build.txt alone, which pip checks by their hashes. The two builds differ
in folder, umask, time zone, clock, hash seed and the times of the source files. Needs git, tar and Python's venv.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from provenance import PREDICATE_TYPE, commit_of, digests, sha256, statement

ROOT = Path(__file__).resolve().parents[1]
BUILD_REQUIREMENTS = Path(__file__).with_name("build.txt")
# hatchling as a module, with the clock put forward; argv has the seconds, which hatchling does not see.
HATCHLING = """
import runpy, sys, time
clock, forward = time.time, float(sys.argv.pop(1))
time.time = lambda: clock() + forward
runpy.run_module("hatchling", run_name="__main__")
"""


@dataclass(frozen=True)
class Conditions:
    """Circumstances on which a build must not depend."""

    folder: str
    umask: int
    timezone: str
    hash_seed: str
    clock_forward: int
    """Seconds by which the clock of the build is ahead of this machine's."""
    file_times: int
    """Time of all source files, in seconds since 1970."""


TWO = (
    Conditions("first", 0o022, "UTC", "1", 0, 1_000_000_000),
    Conditions("second/in a deeper folder", 0o077, "Asia/Kathmandu", "2", 400_000_000, 1_500_000_001),
)


class NotReproducibleError(Exception):
    """Two builds differ, or are not of one source."""


def git(*arguments: str) -> bytes:
    """Return what git prints in this clone."""
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout


def build_environment(folder: Path) -> Path:
    """Make an environment with the packages of .ci/build.txt, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--require-hashes")
    subprocess.run([python, *install, "--requirement", BUILD_REQUIREMENTS], check=True)
    return python


def unpack(archive: bytes, folder: Path, conditions: Conditions) -> None:
    """Unpack the source under the conditions of a build."""
    folder.mkdir(parents=True)
    command = ["tar", "--extract", "--no-same-permissions", "--directory", folder]
    subprocess.run(command, input=archive, check=True, umask=conditions.umask)
    for path in folder.rglob("*"):
        os.utime(path, (conditions.file_times, conditions.file_times), follow_symlinks=False)


def build(python: Path, archive: bytes, work: Path, epoch: int, conditions: Conditions) -> dict[str, Path]:
    """Build an sdist from an archive of the source, and a wheel from the sdist; return the files by their names."""
    source, built = work / conditions.folder / "source", work / conditions.folder / "built"
    unpack(archive, source, conditions)
    environment = {
        "PATH": os.environ["PATH"],
        "SOURCE_DATE_EPOCH": str(epoch),
        "TZ": conditions.timezone,
        "PYTHONHASHSEED": conditions.hash_seed,
        "HATCH_QUIET": "1",
    }
    hatchling = [python, "-c", HATCHLING, str(conditions.clock_forward), "build", "--directory", built]

    def run(target: str, folder: Path) -> None:
        command = [*hatchling, "--target", target]
        subprocess.run(
            command, cwd=folder, env=environment, umask=conditions.umask, check=True, stdout=subprocess.DEVNULL
        )

    run("sdist", source)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as contents:
        contents.extractall(built.parent, filter="data")
    run("wheel", built.parent / sdist.name.removesuffix(".tar.gz"))
    return {file.name: file for file in sorted(built.iterdir())}


def build_twice(python: Path, archive: bytes, work: Path, epoch: int) -> dict[str, Path]:
    """Build under both conditions, and return the files of the first build, which are equal in the second."""
    first, second = (build(python, archive, work, epoch, conditions) for conditions in TWO)
    compare({name: sha256(file) for name, file in first.items()}, {name: sha256(file) for name, file in second.items()})
    return first


def compare(expected: dict[str, str], received: dict[str, str]) -> None:
    """Raise NotReproducibleError if two builds have other files or digests."""
    pairs = {name: (expected.get(name), received.get(name)) for name in sorted(expected.keys() | received.keys())}
    lines = [
        f"{name}: expected SHA-256 {one}, received {other}" for name, (one, other) in pairs.items() if one != other
    ]
    if lines:
        raise NotReproducibleError("\n".join([*lines, "diffoscope shows in which part two files differ."]))


def released(provenance: Path, commit: str) -> dict[str, str]:
    """Return the digests of a release's files; NotReproducibleError if it was built from another commit."""
    record = json.loads(provenance.read_text(encoding="utf-8"))
    if record.get("predicateType") != PREDICATE_TYPE:
        raise NotReproducibleError(f"Expected a statement with the predicate {PREDICATE_TYPE} in {provenance}.")
    if commit_of(record) != commit:
        raise NotReproducibleError(
            f"The provenance is about commit {commit_of(record)}, this clone is at {commit}. "
            f"Run: git checkout {commit_of(record)}"
        )
    return digests(record)


def options() -> argparse.Namespace:
    """Return the options of the command line; the program ends if the build could contain more than HEAD."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for the sdist and the wheel; it must be empty, or not exist")
    parser.add_argument("--provenance", type=Path, help="file for the provenance of this build")
    parser.add_argument("--expect", type=Path, help="provenance of a release; any other digest is an error")
    given = parser.parse_args()
    if given.out.exists() and any(given.out.iterdir()):
        sys.exit(f"{given.out} is not empty. Remove its files, or name another folder.")
    if git("status", "--porcelain").strip():
        sys.exit(
            "The working tree has uncommitted changes, which the build of HEAD would leave out. Commit them first."
        )
    return given


def main() -> None:
    """Build HEAD into a folder, and compare."""
    given = options()
    started, commit = datetime.now(UTC), git("rev-parse", "HEAD").decode().strip()
    epoch = int(git("log", "-1", "--format=%ct"))
    expected = released(given.expect, commit) if given.expect else None
    with TemporaryDirectory() as work:
        python = build_environment(Path(work, "environment"))
        files = build_twice(python, git("archive", commit), Path(work), epoch)
        if expected is not None:
            compare(expected, {name: sha256(file) for name, file in files.items()})
        given.out.mkdir(parents=True, exist_ok=True)
        copies = [Path(shutil.copyfile(file, given.out / name)) for name, file in files.items()]
    if given.provenance:
        given.provenance.parent.mkdir(parents=True, exist_ok=True)
        record = statement(copies, commit, epoch, BUILD_REQUIREMENTS, started, datetime.now(UTC))
        given.provenance.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write("".join(f"{sha256(copy)}  {copy}\n" for copy in copies))
    sys.stdout.write(f"Built twice from {commit}, with the same bytes{' as the release' if given.expect else ''}.\n")


if __name__ == "__main__":
    try:
        main()
    except NotReproducibleError as error:
        sys.exit(f"Not reproduced:\n{error}")
