"""Numbers of the pages, written into them from committed files: `python docs/write_numbers.py`, or `make numbers`.

A page holds `<!-- table: NAME -->` and `<!-- /table -->` around a table, and `<!-- n: NAME -->12<!-- /n -->` around a
number of a sentence. NAME is a function of `docs/page_numbers/` that is decorated with `table` or `number`. What stands
between the marks is replaced; `make format` then wraps the pages. Pages of single benchmarks are written whole
(`page_numbers/benchmark_pages.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is next to docs/

import page_numbers
from page_numbers.marks import MAKERS, MARK, pages, records, written

__all__ = ["MAKERS", "MARK", "main", "page_numbers", "pages", "records", "written"]


def main() -> None:
    """Write the numbers of all pages, and the pages of benchmarks."""
    for page in pages():
        page.write_text(written(page), encoding="utf-8")
    benchmarks = page_numbers.benchmark_pages.pages()
    for page, text in benchmarks.items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for page in set(page_numbers.benchmark_pages.FOLDER.glob("*.md")) - set(benchmarks):
        page.unlink()


if __name__ == "__main__":
    main()
