"""Digests of files: of the bytes, whatever they hold."""

import hashlib
import json
import os

import pytest

from hedgerow.report.files import FileDigest, file_digests, sha256_of
from tests.report.subjects import a_tree


def test_the_digest_is_that_of_the_bytes(tmp_path):
    content = b"a,b\r\n1,\xff\n"
    (path := tmp_path / "rows.csv").write_bytes(content)
    digest = FileDigest.of("training_rows", path)
    assert digest == FileDigest("training_rows", "rows.csv", 9, hashlib.sha256(content).hexdigest())
    written = {"role": "training_rows", "name": "rows.csv", "bytes": 9, "sha256": digest.sha256}
    assert json.loads(json.dumps(digest.to_dict())) == written


def test_text_has_the_digest_of_its_file(tmp_path):
    text = "ε ≤ 1\n"
    (path := tmp_path / "report.html").write_bytes(text.encode())
    assert sha256_of(text) == sha256_of(text.encode()) == FileDigest.of("form", path).sha256


def test_reformatting_a_file_keeps_its_content_digest(tmp_path):
    (tmp_path / "own.json").write_text(a_tree().to_json(), encoding="utf-8")
    (tmp_path / "short.json").write_text(json.dumps(a_tree().to_dict()), encoding="utf-8")
    own, short = (FileDigest.of("model", tmp_path / name) for name in ("own.json", "short.json"))
    assert own.content == short.content == a_tree().to_dict()["digest"]
    assert own.sha256 != short.sha256


@pytest.mark.parametrize("content", [b"\x80\x04}", b'{"learner": {}}', b"<PMML/>", b""])
def test_the_file_of_another_library_has_no_content_digest(tmp_path, content):
    (path := tmp_path / "model").write_bytes(content)
    (digest,) = file_digests(model=path)
    assert digest.content is None
    assert digest.sha256 == sha256_of(content)


def test_several_files_of_a_role_are_listed_and_a_pipe_is_not_read(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    digests = file_digests(training_rows=pipe, held_out_rows="-", attack=[tmp_path / "one", str(tmp_path / "two")])
    assert [(digest.role, digest.name) for digest in digests] == [("attack", "one"), ("attack", "two")]
