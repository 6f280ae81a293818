"""Time to start.

Processor seconds of a fresh interpreter, commands on a table of 100 rows and four columns. `import hedgerow` loads a
name's module when the name is used, and `hedgerow --help` a command's when it is called. `show`, and `fit` of trees and
rule lists, load neither pandas, SciPy nor scikit-learn:

{start}
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from measure import report

RUNS = 7
SCHEMA = """\
label: {name: sick, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 18, high: 90, cuts: [30, 45, 60]}
  sex: {kind: categorical, values: [f, m]}
  smoker: {kind: categorical, values: ["no", "yes"]}
"""
FIT = "fit people.csv --schema people.yaml --epsilon 1 --force"
COMMANDS = {
    "hedgerow --help": "--help",
    "hedgerow fit": f"{FIT} -o list.json",
    "hedgerow fit --model tree": f"{FIT} --model tree -o tree.json",
    "hedgerow show": "show list.json",
    "hedgerow predict": "predict list.json people.csv -o predicted.csv --force",
    "hedgerow report": "report list.json -o report.html --force",
    "hedgerow plan": "plan --schema people.yaml --rows 100 --epsilon 1",
    "hedgerow schema check": "schema check people.yaml people.csv",
}
CALLS = {
    "python -c pass": ["-c", "pass"],
    "import hedgerow": ["-c", "import hedgerow"],
    **{name: ["-m", "hedgerow", *words.split()] for name, words in COMMANDS.items()},
    "import sklearn": ["-c", "import sklearn.base"],
    "import pandas": ["-c", "import pandas"],
}


def seconds(words):
    """Return the processor seconds of a fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    usual = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, *words], capture_output=True, check=False, env=usual)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_people():
    """Write a table of 100 rows, and its schema."""
    rng = Random(1)
    rows = [(rng.randint(18, 89), rng.choice("fm"), *rng.choices(["no", "yes"], k=2)) for _ in range(100)]
    lines = ["age,sex,smoker,sick", *(",".join(map(str, row)) for row in rows)]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("people.yaml").write_text(SCHEMA)


def measure():
    """Return the median of the processor seconds of each call."""
    for words in CALLS.values():
        seconds(words)  # bytecode is written by the first call
    times = {name: [] for name in CALLS}
    for _ in range(RUNS):
        for name, words in CALLS.items():
            times[name].append(seconds(words))
    return {name: median(of) for name, of in times.items()}


def main():
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        make_people()
        times = measure()
        os.chdir(here)
    least = times["python -c pass"]
    report("start", [{"call": name, "seconds": f"{s:.3f}", "ratio": f"{s / least:.1f}"} for name, s in times.items()])


if __name__ == "__main__":
    main()
