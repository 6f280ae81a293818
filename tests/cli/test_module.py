import subprocess
import sys


def test_python_m_hedgerow_is_the_command():
    asked = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("hedgerow ")
