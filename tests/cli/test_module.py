import subprocess
import sys


def test_python_m_hedgerow_is_the_command():
    asked = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("hedgerow ")


FITS = """
import sys
from hedgerow.cli import main
sys.argv[1:] = "fit rows.csv --schema schema.yaml --epsilon 5 --model tree --force".split()

def fit():
    try:
        main()
    except SystemExit as left:
        print("left", left.code, *(name for name in ("pandas", "scipy", "sklearn") if name in sys.modules))

fit()
import pandas, pyarrow
fit()
assert pyarrow.table({"a": [1]}).to_pandas().shape == (1, 1)
"""


def test_a_fit_of_a_csv_file_imports_neither_scipy_nor_pandas(tmp_path):
    """Their import takes longer than such a fit. Where pandas is there already, as in a notebook, it is left alone."""
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(f"{n},{n % 7},{n % 2}\n" for n in range(100)))
    numbers = "attributes: {a: {kind: integer, low: 0, high: 99}, b: {kind: integer, low: 0, high: 6}}\n"
    (tmp_path / "schema.yaml").write_text(numbers + "label: {name: y, classes: [0, 1]}\n")
    done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line[:4] == "left"] == ["left 0", "left 0 pandas"]
