"""The constants of the proofs are those of the code."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hedgerow.learn.search.losses import Loss
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, UNIT, ModelDraw, Rounding
from hedgerow.privacy.gini import RESOLUTION, SENSITIVITY, Gini
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.privacy.zcdp import pure_rho

PROOFS = Path(__file__).parents[1] / "proofs"
pytestmark = pytest.mark.skipif(not PROOFS.exists(), reason="the proofs are in the repository alone")


def constant(name: str) -> int:
    """Return a constant that the proofs state."""
    result = re.findall(rf"^Definition {name} := (\d+)\.$", (PROOFS / "Constants.v").read_text(), re.MULTILINE)
    assert len(result) == 1
    return int(result[0])


def test_sensitivities() -> None:
    assert ModelDraw(Fraction(1), Fraction(1)).sensitivity == constant("draw_sensitivity")
    assert DiscreteLaplace(Fraction(1)).sensitivity == constant("histogram_sensitivity")
    assert SENSITIVITY == Gini.sensitivity == constant("gini_sensitivity") * RESOLUTION


@pytest.mark.parametrize("objective", ["errors", "brier", "mixed"])
def test_no_row_loses_more_than_the_sensitivity_of_a_draw(objective: str) -> None:
    loss = Loss.of(objective, 3)  # pyright: ignore[reportArgumentType]
    table = np.array(loss.table)
    assert table.min() == 0
    assert table.max() == constant("draw_sensitivity") * loss.steps


@pytest.mark.parametrize(("depth", "leaves", "siblings"), [(1, 2, 1), (3, 8, 1), (2, 4, 4)])
def test_a_draw_pays_for_rounding_by_the_factor_of_the_proof(depth: int, leaves: int, siblings: int) -> None:
    rounding, epsilon = Rounding(depth, leaves, 100, 2, StopPrior.constant(0.25), siblings=siblings), Fraction(1)
    weight = rounding.weight(epsilon)

    def paid(weight: Fraction) -> Fraction:
        error = UNIT * (depth + 1) * ((5 * depth + 1) * weight * MOST_ROWS + siblings * leaves * rounding.constant)
        return weight + constant("slack_factor") * error

    assert paid(weight) <= epsilon < paid(weight * (1 + Fraction(1, 2**19)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(2)])
def test_pure_rho_is_the_bound_of_the_proof(epsilon: Fraction) -> None:
    half = epsilon / constant("pure_rho_divisor")
    low, square = constant("tanh_constant"), constant("tanh_square")
    exact = epsilon * half * (low + half**2) / (low + square * half**2)
    assert exact <= pure_rho(epsilon) <= exact * (1 + Fraction(1, 2**20))


def test_the_table_names_every_file_and_theorem() -> None:
    table = (PROOFS / "README.md").read_text()
    for path in PROOFS.glob("*.v"):
        theorems = re.findall(r"^(?:Theorem|Corollary) ([\w']+)", path.read_text(), re.MULTILINE)
        missing = [name for name in theorems if f"`{name}`" not in table]
        assert f"`{path.name}`" in table
        assert not missing
        assert "Admitted" not in path.read_text()


def test_files_that_proofs_name_are_there() -> None:
    root = PROOFS.parent
    for path in (*PROOFS.glob("*.v"), PROOFS / "README.md"):
        names = re.findall(r"[\w/]+\.(?:v|py|md)\b", path.read_text("utf-8"))
        places = (PROOFS, root, root / "src" / "hedgerow")
        assert [name for name in names if not any((place / name).exists() for place in places)] == [], path.name
