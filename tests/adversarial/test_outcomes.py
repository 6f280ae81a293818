"""Targets that are numbers or ordered classes: what was claimed of them and was not true."""

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.schema import Boolean, Integer, Number, OrderedLabel, Schema
from hedgerow.tally import Tally

SMOKER = Schema({"smoker": Boolean(missing="bin")})


@pytest.mark.claim("differ by the sensitivity before noise is added, and in nothing else")
@pytest.mark.parametrize("kind", ["levels", "classes"])
def test_a_row_whose_label_came_to_be_missing_moves_no_number(kind):
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT NULL::boolean AS smoker, 5.5 AS stay, 'a' AS ward FROM range(500)")
    number = Number("stay", 0, 7, levels=7)
    declared = {"label": "stay", "number": number} if kind == "levels" else {"label": "ward", "classes": tuple("abc")}
    oracle = hr.Oracle.from_table(connection.table("t"), budget=None, **declared)

    def numbers():
        answer = oracle.level_marginals(SMOKER) if kind == "levels" else oracle.class_marginals(SMOKER)
        return np.concatenate([answer.below, answer.above]) if kind == "levels" else answer.rows.ravel()

    before = numbers()
    connection.raw_sql("INSERT INTO t VALUES (false, NULL, NULL)")
    assert numbers().tolist() == before.tolist()


@pytest.mark.parametrize("classes", [(1, 0), (0, 1), (True, False)])
@pytest.mark.parametrize("values", [[1, 1, 0], ["1", "1", "0"], ["TRUE", "true", "false"], [True, True, False]])
def test_text_is_the_class_that_it_spells_in_every_order(classes, values):
    schema = Schema({"x": Boolean()}, OrderedLabel("y", classes))
    frame = pd.DataFrame({"x": [1, 0, 1], "y": values})
    expected = [2, 1] if classes[0] else [1, 2]
    assert Tally.count(frame, "y", schema).total().tolist() == expected
    assert Tally.from_table(ibis.memtable(pa.Table.from_pandas(frame)), schema).total().tolist() == expected


def test_a_fit_that_was_charged_ends_with_a_scorecard_whatever_the_noise():
    rng = np.random.default_rng(0)
    frame, schema = pd.DataFrame({"x": rng.integers(0, 99, 400)}), Schema({"x": Integer(0, 99)}, Number("y", 0, 9.37))
    for seed in range(30):
        card = hr.PrivateScorecardRegressor(epsilon=0.1, schema=schema, points=1, smooth=1000.0, random_state=seed)
        assert card.fit(frame, rng.uniform(0, 9, 400)).scorecard_.unit <= 9.37
