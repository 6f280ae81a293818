"""Digests of files: of the bytes, whatever they hold."""

import hashlib
import json
import os

import pytest

from hedgerow.report.files import FileDigest, Files
from tests.report.subjects import a_tree


def test_the_digest_is_that_of_the_bytes(tmp_path):
    content = b"a,b\r\n1,\xff\n"
    (path := tmp_path / "rows.csv").write_bytes(content)
    found = FileDigest.of(path)
    assert found == FileDigest("rows.csv", len(content), hashlib.sha256(content).hexdigest())
    assert found == FileDigest.of_content("rows.csv", content)
    assert json.loads(json.dumps(found.to_dict())) == {"name": "rows.csv", "bytes": 9, "sha256": found.sha256}


def test_text_has_the_digest_of_its_file(tmp_path):
    text = "ε ≤ 1\n"
    (path := tmp_path / "report.html").write_bytes(text.encode())
    assert FileDigest.of_content("report.html", text) == FileDigest.of(path)


def test_other_bytes_of_the_same_model_have_another_digest_and_the_same_content(tmp_path):
    (tmp_path / "own.json").write_text(a_tree().to_json(), encoding="utf-8")
    (tmp_path / "short.json").write_text(json.dumps(a_tree().to_dict()), encoding="utf-8")
    own, short = (Files.of(model=tmp_path / name) for name in ("own.json", "short.json"))
    assert own.model_content == short.model_content == a_tree().to_dict()["digest"]
    assert own.model.sha256 != short.model.sha256


@pytest.mark.parametrize("content", [b"\x80\x04}", b'{"learner": {}}', b"<PMML/>", b""])
def test_the_file_of_another_library_has_no_content_digest(tmp_path, content):
    (path := tmp_path / "model").write_bytes(content)
    files = Files.of(model=path, train=path)
    assert files.model_content is None
    assert files.model == files.train == FileDigest.of(path)
    assert files.test is None


def test_a_pipe_is_not_read_and_has_no_digest(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    assert Files.of(train=pipe, test="-") == Files()
