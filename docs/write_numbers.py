"""Numbers of the pages, written into them from committed files: `python docs/write_numbers.py`, or `make numbers`.

A page holds `<!-- table: NAME -->` and `<!-- /table -->` around a table, and `<!-- n: NAME -->12<!-- /n -->` around a
number of a sentence. NAME is a function of `docs/page_numbers/` that is decorated with `table` or `number`. What stands
between the marks is replaced.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ stands beside docs/

import page_numbers
from page_numbers.marks import MAKERS, MARK, pages, records, written

__all__ = ["MAKERS", "MARK", "main", "page_numbers", "pages", "records", "written"]


def main() -> None:
    """Write the numbers of all pages."""
    for page in pages():
        page.write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()
