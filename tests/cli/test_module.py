import subprocess
import sys


def test_python_m_hedgerow_is_the_command():
    asked = subprocess.run([sys.executable, "-m", "hedgerow", "--version"], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("hedgerow ")


def test_a_fit_of_a_file_of_text_needs_no_pandas_which_arrow_would_import(tmp_path):
    """Its import takes longer than such a fit. Where pandas is there already, as in a notebook, it is left alone."""
    (tmp_path / "bits.csv").write_text("a,b,y\n" + "0,1,0\n1,0,1\n" * 50)
    command = ["fit", "bits.csv", "--target", "y", "--epsilon", "5", "--max-rules", "2", "--force"]
    code = f"import sys; from hedgerow.cli import main; sys.argv[1:] = {command}\n"
    code += "try: main()\nexcept SystemExit as left: print(left.code, 'pandas' in sys.modules)"
    for first, expected in (("", "0 False"), ("import pandas, pyarrow as pa; ", "0 True")):
        then = "" if not first else "; assert pa.table({'a': [1]}).to_pandas().shape == (1, 1)"
        done = subprocess.run(
            [sys.executable, "-c", first + code + then], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.stdout.endswith(f"{expected}\n"), done.stderr
