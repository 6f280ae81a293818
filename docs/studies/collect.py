"""Take what the docs cite out of a study's folder: tables, pictures, means, and raw runs, compressed.

Run as ``python docs/studies/collect.py build/expril docs/studies/expril``.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path


def collect(study: Path, pages: Path) -> None:
    """Copy the files of a study, those of its folders by the folder's name."""
    pages.mkdir(exist_ok=True)
    for file in sorted(study.rglob("*")):
        if file.name == "runs.csv":
            with gzip.GzipFile(pages / f"{file.parent.name}-runs.csv.gz", "wb", mtime=0) as packed:
                packed.write(file.read_bytes())
        elif file.suffix in (".csv", ".md", ".png"):
            shutil.copyfile(file, pages / file.name)


if __name__ == "__main__":
    collect(Path(sys.argv[1]), Path(sys.argv[2]))
