"""The README's three commands start a curator, ask it from another process, and show the ledger."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_three_commands_of_the_readme(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"```sh\n(hedgerow serve --demo.*?)```", readme, re.DOTALL)
    commands = commands.replace("--port 8765", "--port 0").replace("examples/", f"{ROOT}/examples/")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert shutil.which("hedgerow", path=path), "The command hedgerow is not installed: run `pip install -e .` first."
    with subprocess.Popen(
        ["bash", "-ec", f"{commands}\nkill -TERM %1; wait %1"],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            out, err = shell.communicate(timeout=120)
        finally:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGKILL)
    assert (shell.returncode, err) == (0, "")
    assert "spent: epsilon 3 of 10" in out
    assert "     7  " in out
    assert out.rstrip().splitlines()[-1].split()[2] == "answered"
