"""The chance of a constant model, against draws from the table that it is exact for."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search import cost
from hedgerow.learn.search.lattice import Stop
from hedgerow.planning.bounds import WholeDraw
from hedgerow.planning.constant import SAVED, SHARES, chances_of_constant
from hedgerow.planning.expected import DefaultDraws
from hedgerow.tally import Tally
from tests.planning.draws import drawn_models

SCHEMA = hr.Schema({f"x{n}": hr.Boolean() for n in range(4)}, hr.Label("ill", ("no", "yes")))
EPSILON = Fraction(1, 20)


def the_table():
    """Return 800 rows, 160 of the rarer class: ``x0`` finds 160 rows, 120 of them of it, so that 80 are saved."""
    patterns = np.array(list(product((0, 1), repeat=4)))
    return Tally(SCHEMA, patterns, np.array([[5, 15] if x0 else [75, 5] for x0, *_ in patterns]))


def said(model):
    """Return the values of the leaves."""
    return {model.value} if isinstance(model, Stop) else said(model.caught) | said(model.left)


@pytest.mark.statistics
@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_the_chance_is_that_of_draws_and_of_no_other_epsilon(make):
    """1,500 draws: 3.5 standard deviations of a share of .16 are .033; at ε 30 % off it is another by more."""
    models = drawn_models(make(EPSILON), the_table(), 1500)
    real = sum(len(said(model)) == 1 for model in models) / len(models)
    for factor, is_right in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        draw, mechanism = WholeDraw.of(specification_of(make(EPSILON)), SCHEMA).at(EPSILON * factor)
        (found,) = chances_of_constant(draw, float(mechanism.weight), 800, np.array([0.2]), np.array([0.5]))
        assert (abs(float(found) - real) < 0.033) is is_right


def test_the_chance_falls_with_the_rarer_class_its_rows_that_are_saved_rows_and_epsilon():
    def of(rows, epsilon):
        found = DefaultDraws.of(SCHEMA).constants(rows, Fraction(epsilon))
        assert [(one.kind, one.share, one.saved) for one in found] == [
            (kind, share, saved) for kind in ("tree", "rule list") for share in SHARES for saved in SAVED
        ]
        return np.array([one.chance for one in found]).reshape(2, len(SHARES), len(SAVED))

    few, more, strong = of(200, "0.1"), of(2000, "0.1"), of(200, 1)
    assert np.all(np.diff(few, axis=1) <= 1e-12)
    assert np.all(np.diff(few, axis=2) <= 1e-12)
    assert np.all(more[:, :, 1:] <= few[:, :, 1:])
    assert more[1] == pytest.approx(strong[1], abs=0.01)  # of lists rows times epsilon decide, but for rounding
    assert few.max() > 0.5 > few.min()


def test_numbers_and_greedy_models_have_no_such_chance(monkeypatch):
    numbers = hr.Schema(SCHEMA.attributes, hr.Number("days", 0, 9))
    assert DefaultDraws.of(numbers).constants(100, Fraction(1)) == ()
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert DefaultDraws.of(SCHEMA).constants(100, Fraction(1)) == ()


def test_the_table_is_printed_by_the_rarer_class():
    text = str(hr.plan(SCHEMA, 200, "0.1"))
    assert "chance of one class for every row, if one test saves so much of the rarer class from error" in text
    (line,) = [line for line in text.splitlines() if line.strip().startswith("20 %")]
    shown = [one.chance for one in hr.plan(SCHEMA, 200, "0.1").constants if one.share == 0.2]
    assert line.split("%")[1].strip() == f"{100 * shown[0]:.0f}"
    assert "< 1 %" in str(hr.plan(SCHEMA, 800, "0.1"))
    assert "one class for every row is unlikely" in str(hr.plan(SCHEMA, 100_000, 1))
