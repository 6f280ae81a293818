"""Oracles of tables in which a person has many rows: what is noised, charged and said."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import DomainError
from hedgerow.oracle import frame_rows
from hedgerow.privacy.noise import SecureNoise
from tests.learn.replay import Recorder, loss_of_all

UNIT = hr.Unit("who", 2)
BINS = hr.Schema({"size": hr.Real(0, 10, (2.5, 5), missing="bin", outside="clip")})
ROW = st.tuples(st.sampled_from([1.0, 3.0, 7.0, None]), st.booleans())


def frame(rows):
    """Return rows, given as (who, (size, ill)), as a frame with its labels."""
    whose, sizes = [who for who, _ in rows], [size for _, (size, _) in rows]
    data = pd.DataFrame({"who": np.array(whose, dtype=object), "size": np.array(sizes, dtype=float)})
    return data, np.array([ill for _, (_, ill) in rows], dtype=bool)


ASKED = {
    "rows": lambda oracle: oracle.marginals(BINS),
    "classes": lambda oracle: oracle.class_marginals(BINS),
    "errors": lambda oracle: oracle.error_marginals(BINS, hr.oracle.Always(True)),
}


@pytest.mark.parametrize("release", ["counts", "gaussian"])
@pytest.mark.parametrize("ask", ASKED)
@settings(max_examples=5)
@given(rows=st.lists(st.tuples(st.sampled_from("ab"), ROW), max_size=8), more=st.lists(ROW, min_size=1, max_size=5))
def test_with_all_rows_of_a_person_more_answers_are_as_far_as_charged(ask, release, rows, more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_rows, "draw_key", lambda _: b"a key")  # the coupling of fact 7
        traces = []
        for table in (rows, [*rows, *(("zoe", row) for row in more)]):
            recorder = Recorder(SecureNoise())
            oracle = hr.Oracle(*frame(table), hr.Budget(1, "1e-6"), unit=UNIT, release=release, random_state=recorder)
            ASKED[ask](oracle)
            traces.append(recorder.trace)
    ((mechanism, item, _),), ((again, other, _),) = traces
    assert mechanism == again
    assert loss_of_all(traces[0], UNIT.max_rows) <= 1
    most = mechanism.sensitivity if release == "gaussian" else UNIT.max_rows * mechanism.sensitivity
    assert mechanism.distance(np.asarray(item), np.asarray(other)) <= most


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_noise_grows_with_the_rows_of_a_person_and_the_card_explains_it(release):
    data, ill = frame([("a", (1.0, True))] * 5 + [("b", (7.0, False))])
    budget = hr.Budget(1, "1e-6")
    oracle = hr.Oracle(data, ill, budget, 2, unit=UNIT, release=release)
    of_rows = hr.Oracle(data[["size"]], ill, hr.Budget(1, "1e-6"), 2, release=release)
    assert oracle.noise_scale(BINS.sizes) == pytest.approx(2 * of_rows.noise_scale(BINS.sizes), rel=5e-3)
    answer = oracle.marginals(BINS)
    assert answer.noise.scale == pytest.approx(oracle.noise_scale(BINS.sizes))
    assert oracle.privacy.unit == UNIT
    assert budget.spent == (1 if release == "gaussian" else Fraction(1, 2))
    assert "at most 2 rows of each unit, drawn at random, are used" in str(oracle.privacy)
    assert oracle.columns == ("size",)


def test_exact_answers_count_the_same_two_rows_of_each_unit():
    data, ill = frame([("a", (1.0, True)), ("a", (3.0, True)), ("a", (7.0, False)), ("b", (7.0, False))])
    oracle = hr.Oracle(data, ill, None, 5, unit=UNIT)
    answers = [oracle.class_marginals(BINS).rows.tolist() for _ in range(5)]
    assert np.sum(answers[0]) == 3
    assert answers[1:] == answers[:-1]


def test_charges_that_do_not_fit_are_refused_and_not_charged():
    data, ill = frame([("a", (1.0, True))] * 3)
    budget = hr.Budget(1)
    with pytest.raises(DomainError, match="column 'who'"):
        hr.Oracle(data[["size"]], ill, budget, unit=UNIT)
    with pytest.raises(DomainError, match="expected a frame"):
        hr.Oracle(np.zeros((3, 1)), ill, budget, unit=UNIT)
    with pytest.raises(ValueError, match="a unit with several rows needs"):
        hr.Oracle(data, ill, budget, unit=UNIT, release="ratio")
    with pytest.raises(TypeError, match=r"unit .*got str"):
        hr.Oracle(data, ill, budget, unit="who")
    oracle = hr.Oracle(data, ill, budget, unit=UNIT)
    with pytest.raises(DomainError, match="column 'who'"):
        oracle.marginals(hr.Schema({"who": hr.Categorical(("a",), missing="bin", outside="bin")}))
    paid = hr.Schema(BINS.attributes, charges=(hr.privacy.Charge("cut points", Fraction(1)),))
    with pytest.raises(ValueError, match="unit"):
        oracle.marginals(paid)
    assert budget.spent == 0
    assert oracle.queries_left == 3
