"""Claim: an outage charges a question once at most, and the question is answered after it, under the same key.

The whole matrix, with the outages of PostgreSQL, is a committed file of which docs/studies/outages.md has a table.
"""

import csv
import os

import pytest

from tests.adversarial import outages

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def committed():
    with outages.RESULTS.open(newline="") as file:
        return {(row["what fails"], row["how"], row["step"]): row for row in csv.DictReader(file)}


def test_the_outage_matrix_is_complete_and_has_no_lasting_cost(tmp_path):
    rows = committed()
    named = [(outage.what, outage.how, step) for outage, step, _ in outages.cases(tmp_path, None)]
    assert set(named) <= set(rows)
    assert sum("PostgreSQL" in what for what, _, _ in rows) == 6 * (5 + 3)
    for row in rows.values():
        assert (row["then"], row["charges then"]) == ("200", "1")
        assert row["status"] in ("200", "503", "none")
        assert row["status"] != "200" or row["charges"] == "1"
        assert (row["said charged"], row["charges"]) not in {("no", "1"), ("yes", "0")}
        assert row["step"] != outages.STEPS[0] or row["status"] == "200" or row["charges"] == "0"


QUICK = ("rows in Parquet", "service")


@pytest.mark.claim("An outage of a database never charges a request twice")
@pytest.mark.parametrize("what", [*QUICK, pytest.param("", marks=pytest.mark.slow)])
def test_outages_of_files_and_of_the_process_are_as_committed(tmp_path, what):
    expected, run = committed(), 0
    for outage, step, case in outages.cases(tmp_path, None):
        if what == outage.what or (not what and outage.what not in QUICK):
            assert case() == expected[outage.what, outage.how, step]
            run += 1
    assert run >= 10


@pytest.mark.slow
@pytest.mark.postgres
def test_outages_of_postgresql_are_as_committed(tmp_path):
    expected = committed()
    with outages.running_cluster() as cluster:
        for outage, step, case in outages.cases(tmp_path, cluster):
            if "PostgreSQL" in outage.what:
                assert case() == expected[outage.what, outage.how, step]
