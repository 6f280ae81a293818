from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studies.__main__ import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path, request):
    """Run the command of the study that the test's folder is about, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    study = Path(request.path).parent.name

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["studies", study, *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        printed = capsys.readouterr()
        return leaving.value.code or 0, printed.out, printed.err

    return call
