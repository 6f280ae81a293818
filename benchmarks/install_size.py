"""Size of an installation.

pip installs a wheel of hedgerow without extras in a new environment; megabytes on disk, by package. *Tests* are files
in folders `tests` and `test`, with their bytecode. *Bytecode* belongs to all other modules, which pip compiles during
installation. *Symbols* are names inside compiled libraries, which only debuggers read; vendored libraries (in folders
`*.libs`) cannot be stripped. A tree is then fitted and audited after removing all three.

{install_size}

Installers can omit bytecode: `pip install --no-compile` or `uv pip install`. Python then compiles imported modules
once, which takes a few seconds of the first run. Tests and symbols are part of the wheels of their projects and cannot
be removed for all users. [Dependencies](../docs/dependencies.md#size) explains why no package was moved to an extra.

Needs the package index, and binutils to measure symbols.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import report, use_all_cores

ROOT = Path(__file__).parents[1]
LEAST = 2.0
"""Megabytes from which on a package has a row of its own."""
LISTED = """
import json
from importlib import metadata
packages = {d.name: [str(f.locate()) for f in d.files or ()] for d in metadata.distributions()}
print(json.dumps(packages))
"""

FIRST_MODEL = """
import hedgerow as hr
data = hr.datasets.load("breast_cancer")
tree = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels).tree_
tree.to_sql()
hr.audit.reconstruction(tree, data=data.frame)
"""


def on_disk(file):
    """Return the megabytes that a file takes up on disk."""
    return file.stat().st_blocks * 512 / 2**20


def trim(files):
    """Remove the files of a package that a fit does not need; return its megabytes, and those of each removed part."""
    sizes = Counter()
    for file in {Path(name) for name in files}:
        if not file.is_file():
            continue
        size = on_disk(file)
        sizes["MB"] += size
        in_tests = not {"tests", "test"}.isdisjoint(file.parts)
        if in_tests or file.suffix == ".pyc":
            sizes["tests" if in_tests else "bytecode"] += size
            file.unlink()
        elif ".so" in file.suffixes and size > 1 and not file.parent.name.endswith(".libs"):
            subprocess.run(["strip", "--strip-unneeded", file], check=True)
            sizes["symbols"] += size - on_disk(file)
    return sizes


def installed(folder):
    """Install hedgerow's wheel in a new environment, and return the files of each package by its name."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *folder.glob("*.whl")], check=True)
    return json.loads(subprocess.run([python, "-I", "-c", LISTED], check=True, capture_output=True).stdout)


def main() -> None:
    """Measure the packages of an environment."""
    use_all_cores()
    with TemporaryDirectory() as place:
        folder = Path(place)
        packages = {name: trim(files) for name, files in installed(folder).items()}
        python = folder / "venv" / "bin" / "python"
        subprocess.run([python, "-B", "-I", "-W", "ignore", "-c", FIRST_MODEL], check=True, cwd=folder)
    small = [name for name, sizes in packages.items() if sizes["MB"] < LEAST]
    rows = sorted(((name, packages[name]) for name in packages.keys() - small), key=lambda row: -row[1]["MB"])
    rows.append((f"{len(small)} smaller ones", sum((packages[name] for name in small), Counter())))
    rows.append((f"all {len(packages)}", sum(packages.values(), Counter())))
    columns = ("MB", "tests", "bytecode", "symbols")
    report(
        "install_size",
        [{"package": name, **{column: f"{sizes[column]:.1f}" for column in columns}} for name, sizes in rows],
    )


if __name__ == "__main__":
    main()
