"""docs/mathematics.md: formulas; what else is in digits are places in papers, and what a benchmark took."""

from hedgerow.privacy.exponential_mechanism import MOST_ROWS, ULPS, UNIT
from tests.docs.page import Page, records

PAGE = "docs/mathematics.md"


def check(page: Page) -> None:
    """Check the page."""
    page.given("Definitions 1 to 4, eq. 2 to 16", "Section 5.4", "Differential Privacy*, CCS 2020")
    page.given(r"c = \lceil 24 \Lambda + 8 \ln v \rceil + k + v + 50", r"C = 24\Lambda + k + 40$")
    page.given(r"13\Lambda + 29$", r"\Lambda + 19$", "exponents below −700, which are taken as −700", "to 60 digits")
    page.says("within {} units in the last place", str(ULPS))
    page.says("n < 2^{{{}}}$ rows together", str(MOST_ROWS.bit_length() - 1))
    page.says("fewer than $2^{{{}}}$ rows", str(MOST_ROWS.bit_length() - 1))
    page.says("u = 2^{{-{}}}$", str(UNIT.denominator.bit_length() - 1))
    assert min(int(record["times"]) for record in records("benchmarks/results/base_two.csv")) > 20
    page.says("on Adult take more than {} times as long", "20")
