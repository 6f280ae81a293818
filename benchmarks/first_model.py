"""From `pip install` to the first model.

New environments without pip's cache, the same 569 rows, and the first example of each tool's own documentation.
Measured sequentially on two shared cores:

{first_model}

Before plots and engines became extras, `pip install hedgerow` took 161 s and 1,059 MB, 76 s after on that machine.
[Size of an installation](install_size.py) lists megabytes by package. Extras contain matplotlib with its dependencies
(98 MB, `plots`), DuckDB and Ibis (89 MB, `engines`).

Needs the package index; peers that cannot be installed are left out, and the reason is printed.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from measure import report, use_all_cores
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parents[1]
RUNS = 3
READ = """
import pandas as pd
frame = pd.read_csv("rows.csv")
labels = frame.pop("diagnosis")
"""
TOOLS = {
    "hedgerow": (
        str(ROOT),
        "import hedgerow as hr\ndata = hr.datasets.load('breast_cancer')\n"
        "clf = hr.PrivateTreeClassifier(epsilon=1.0, max_depth=2, schema=data.schema)\n"
        "print(clf.fit(data.frame, data.labels).tree_)",
    ),
    "hedgerow, all extras": (
        f"{ROOT}[all]",
        "import hedgerow as hr\ndata = hr.datasets.load('breast_cancer')\n"
        "clf = hr.PrivateTreeClassifier(epsilon=1.0, max_depth=2, schema=data.schema)\n"
        "print(clf.fit(data.frame, data.labels).tree_)",
    ),
    "diffprivlib, tree": (
        "diffprivlib scikit-learn<1.8",  # from 1.8 on diffprivlib 0.6.6 cannot be imported
        "from diffprivlib.models import DecisionTreeClassifier\nfrom sklearn.datasets import load_breast_cancer\n"
        "X, y = load_breast_cancer(return_X_y=True)\nbounds = (X.min(axis=0), X.max(axis=0))\n"
        "print(DecisionTreeClassifier(bounds=bounds, classes=[0, 1]).fit(X, y).tree_)",
    ),
    "interpret, DP-EBM": (
        "interpret",
        READ + "from interpret.privacy import DPExplainableBoostingClassifier\n"
        "print(DPExplainableBoostingClassifier().fit(frame, labels).explain_global().data(0))",
    ),
    "imodels, rule list": (
        "imodels six",  # which it needs without saying so
        READ + "from imodels import GreedyRuleListClassifier\n"
        "model = GreedyRuleListClassifier()\nmodel.fit(frame.to_numpy(), (labels == 'malignant').to_numpy(dtype=int))\n"
        "print(model)",
    ),
}


def timed(words, folder):
    """Return the wall seconds of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    return time.perf_counter() - start


def measured(package, code, folder):
    """Return seconds to install, megabytes, distributions, and seconds to a first model: the first, and the median."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = timed([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *package.split()], folder)
    size = int(subprocess.run(["du", "-sm", folder / "venv"], check=True, capture_output=True).stdout.split()[0])
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "freeze"], check=True, capture_output=True, text=True
    )
    result = dict(line.split("==") for line in listed.stdout.splitlines() if "==" in line)
    runs = [timed([python, "-W", "ignore", "-c", code], folder) for _ in range(RUNS)]
    shutil.rmtree(folder / "venv")
    return install, size, result, runs


def main() -> None:
    """Measure each tool in an environment of its own."""
    use_all_cores()
    data = load_breast_cancer(as_frame=True)
    rows = []
    for name, (package, code) in TOOLS.items():
        with TemporaryDirectory() as place:
            folder = Path(place)
            data.data.assign(diagnosis=data.target.map({0: "malignant", 1: "benign"})).to_csv(
                folder / "rows.csv", index=False
            )
            try:
                install, size, result, runs = measured(package, code, folder)
            except subprocess.CalledProcessError as error:
                print(f"{name} is left out: {str(error.stderr).strip().splitlines()[-1:]}")
                continue
        version = result.get(Path(package.split()[0].split("[")[0]).name, result.get("hedgerow", ""))
        rows.append(
            {
                "tool": name,
                "version": version,
                "packages": len(result),
                "MB": size,
                "install, seconds": f"{install:.0f}",
                "first model, seconds": f"{runs[0]:.1f}",
                "later, seconds": f"{median(runs[1:]):.1f}",
                "in all, seconds": f"{install + runs[0]:.0f}",
            }
        )
        print(rows[-1])
    report("first_model", rows)


if __name__ == "__main__":
    main()
