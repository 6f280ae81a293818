"""docs/mathematics.md: formulas only; what is in digits are places in papers."""

from tests.docs.page import Page

PAGE = "docs/mathematics.md"


def check(page: Page) -> None:
    """Check the page."""
    page.given("Definitions 1 to 4, eq. 2 to 16", "Section 5.4")
