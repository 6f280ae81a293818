import subprocess
import sys


def test_python_m_hedgerow_is_the_command():
    asked = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("hedgerow ")


FITS = """
import sys
from hedgerow.cli import main
sys.argv[1:] = "fit bits.csv --target y --epsilon 5 --max-rules 2 --force".split()

def fit():
    try:
        main()
    except SystemExit as left:
        print("left", left.code, "pandas" in sys.modules)

fit()
import pandas, pyarrow
fit()
assert pyarrow.table({"a": [1]}).to_pandas().shape == (1, 1)
"""


def test_a_fit_of_a_file_of_text_needs_no_pandas_which_arrow_would_import(tmp_path):
    """Its import takes longer than such a fit. Where pandas is there already, as in a notebook, it is left alone."""
    (tmp_path / "bits.csv").write_text("a,b,y\n" + "0,1,0\n1,0,1\n" * 50)
    done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line[:4] == "left"] == ["left 0 False", "left 0 True"]
