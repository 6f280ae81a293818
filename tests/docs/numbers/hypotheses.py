"""docs/hypotheses.md: the bounds of ONNX files."""

from __future__ import annotations

from math import log2

from hedgerow.boundary.arithmetic import LARGEST
from hedgerow.hypotheses import LARGEST_ONNX
from hedgerow.hypotheses.onnx_operators import LEAST_WORK, MOST_WORK
from hedgerow.hypotheses.onnx_plain import MOST_NODES, MOST_OUTPUTS, MOST_WIDE, OPSETS
from tests.docs.page import Page

PAGE = "docs/hypotheses.md"


def check(page: Page) -> None:
    (low, high), (low_ml, high_ml) = OPSETS.values()
    page.says(
        "Versions {} to {} of ONNX's own operators and {} to {} of", str(low), str(high), str(low_ml), str(high_ml)
    )
    page.says("A file has at most {} bytes", f"{LARGEST_ONNX:,}")
    page.says(
        "{} nodes, {} outputs, {} columns of a value, and {} operations on a row, at least {} a step",
        *(f"{bound:,}" for bound in (MOST_NODES, MOST_OUTPUTS, MOST_WIDE, MOST_WORK, LEAST_WORK)),
    )
    assert log2(LARGEST) == 300
    page.given("some 40 binary digits", '"1.0" is "1"')
