"""A rebuild of the source gives the same bytes, and its provenance is what in-toto and SLSA define."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / ".ci"))

import provenance  # noqa: E402
import rebuild  # noqa: E402

needs_git = pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="the files of the source are known to git alone"
)
EPOCH = 1_700_000_000


@pytest.fixture(scope="module")
def source():
    """Return an archive of the package and of the files that its build needs, as they are in the working tree."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout.decode()
    needed = ("src/", "pyproject.toml", "README.md", "LICENSE", ".gitignore")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in listed.split("\0"):
            if name.startswith(needed) and (ROOT / name).is_file():
                tar.add(ROOT / name, name)
    return archive.getvalue()


@needs_git
def test_two_builds_under_different_conditions_are_equal(source, tmp_path):
    pytest.importorskip("hatchling")
    files = rebuild.build_twice(Path(sys.executable), source, tmp_path, EPOCH)
    assert [name.partition("-")[0] for name in files] == ["hedgerow", "hedgerow"]
    assert {Path(name).suffix for name in files} == {".gz", ".whl"}
    other = rebuild.build(Path(sys.executable), source, tmp_path / "later", EPOCH + 86_400, rebuild.TWO[0])
    for name, file in files.items():  # the comparison sees a single time that differs
        assert file.read_bytes() != other[name].read_bytes()


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return a clone with one commit, in which two files of rows were left lying: one is ignored, one is not."""
    run = partial(subprocess.run, cwd=tmp_path, check=True)
    run(["git", "init", "--quiet"])
    (tmp_path / ".gitignore").write_text("*.parquet\n", encoding="utf-8")
    run(["git", "add", "."])
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    run(["git", *author, "commit", "--quiet", "--message", "first"])
    (tmp_path / "patients.parquet").touch()
    monkeypatch.setattr(rebuild, "ROOT", tmp_path)
    return tmp_path


@needs_git
def test_files_that_are_not_committed_are_in_no_release(clone, monkeypatch):
    monkeypatch.chdir(clone)
    with tarfile.open(fileobj=io.BytesIO(rebuild.git("archive", "HEAD"))) as source:
        assert source.getnames() == [".gitignore"]
    monkeypatch.setattr(sys, "argv", ["rebuild.py", "dist"])
    assert rebuild.options().out == Path("dist")
    (clone / "patients.csv").touch()
    with pytest.raises(SystemExit, match="uncommitted changes"):
        rebuild.options()


def test_the_two_builds_differ_in_every_condition():
    first, second = (vars(conditions) for conditions in rebuild.TWO)
    assert not [name for name in first if first[name] == second[name]]


@pytest.mark.parametrize("received", [{"a.whl": "0"}, {"a.whl": "1", "b.whl": "2"}, {}])
def test_builds_with_other_digests_or_files_are_refused(received):
    with pytest.raises(rebuild.NotReproducibleError, match=r"\.whl: expected SHA-256"):
        rebuild.compare({"a.whl": "1"}, received)
    rebuild.compare({"a.whl": "1"}, {"a.whl": "1"})


@pytest.fixture
def statement(tmp_path):
    files = [tmp_path / "a.whl", tmp_path / "a.tar.gz"]
    for file in files:
        file.write_bytes(file.name.encode())
    times = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 2, 3, 5, 6, tzinfo=UTC)
    return provenance.statement(files, "1" * 40, EPOCH, rebuild.BUILD_REQUIREMENTS, *times)


@pytest.mark.parametrize(
    "workflow", [{}, {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/hedgerow"}]
)
def test_the_provenance_is_a_statement_of_in_toto_with_a_predicate_of_slsa(monkeypatch, request, workflow):
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in workflow.items():
        monkeypatch.setenv(name, value)
    record = request.getfixturevalue("statement")
    statements = pytest.importorskip("in_toto_attestation.v1.statement")
    from google.protobuf.json_format import ParseDict
    from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
    from in_toto_attestation.v1.statement_pb2 import Statement

    parsed = ParseDict(record, Statement())  # an unknown field is an error
    statements.Statement.copy_from_pb(parsed).validate()
    predicate = ParseDict(record["predicate"], Provenance())
    assert record["predicateType"] == "https://slsa.dev/provenance/v1"
    assert predicate.build_definition.build_type
    assert predicate.run_details.builder.id
    assert all(material.uri or material.digest for material in predicate.build_definition.resolved_dependencies)


def test_the_provenance_names_files_source_and_build_packages(statement):
    # printf a.whl | sha256sum
    assert provenance.digests(statement)["a.whl"] == "3131ceee9d4d18d43ebbeea1aebc37d4274f93182b284100c8f71ea8eff4bbfc"
    definition = statement["predicate"]["buildDefinition"]
    source, lock, *packages = definition["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": "1" * 40}
    assert lock["digest"] == {"sha256": provenance.sha256(ROOT / ".ci" / "build.txt")}
    assert any(package["uri"].startswith("pkg:pypi/hatchling@") for package in packages)
    assert definition["internalParameters"] == {"SOURCE_DATE_EPOCH": str(EPOCH)}


def test_a_release_of_another_commit_is_refused(statement, tmp_path):
    file = tmp_path / "provenance.json"
    file.write_text(json.dumps(statement), encoding="utf-8")
    assert rebuild.released(file, "1" * 40) == provenance.digests(statement)
    with pytest.raises(rebuild.NotReproducibleError, match=f"git checkout {'1' * 40}"):
        rebuild.released(file, "2" * 40)
    file.write_text(json.dumps({"bomFormat": "CycloneDX"}), encoding="utf-8")
    with pytest.raises(rebuild.NotReproducibleError, match="slsa"):
        rebuild.released(file, "1" * 40)


def test_every_package_of_the_build_is_locked_by_hashes():
    lines = rebuild.BUILD_REQUIREMENTS.read_text(encoding="utf-8").split("\n\n")[-1].splitlines()
    packages = [line for line in lines if "==" in line]
    assert len(packages) == len(provenance.requirements("\n".join(lines))) >= 5
    assert all(line.endswith("\\") for line in packages)  # a hash follows


@needs_git
def test_no_page_of_the_release_is_left_out_of_the_sdist():
    named = {provenance.BUILD_TYPE, provenance.LOCAL_BUILDER}
    assert not [uri for uri in named if not (ROOT / uri.partition("#")[2]).is_file()]
