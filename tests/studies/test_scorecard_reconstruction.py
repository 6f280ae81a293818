"""The study of scorecards beside trees: what a reader is assumed to know of each model, and its measures."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit import reconstruction
from studies import scorecard_reconstruction as study
from studies.scorecard_reconstruction import Split, known_counts, measures, summary


@pytest.fixture
def split():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (80, 4)) == 1, columns=list("abcd"))
    labels = pd.Series(np.where(frame["a"] ^ (rng.random(80) < 0.2), "yes", "no"), name="y")
    schema = hr.Schema(dict.fromkeys("abcd", hr.Boolean()), hr.Label("y", ("no", "yes")))
    return Split(frame[:60], labels[:60], frame[60:], labels[60:], schema)


def test_public_marginals_are_held_out_shares_plus_half_a_row(split):
    shares = split.public_shares()["a"]
    assert shares == pytest.approx([((~split.X_test["a"]).sum() + 0.5) / 21, (split.X_test["a"].sum() + 0.5) / 21])


def test_every_model_is_measured_for_each_kind_of_known_counts(split, monkeypatch):
    monkeypatch.setattr(Split, "of", lambda *_: split)
    records = pd.DataFrame(study.audited("tiny", 0))
    known = {"file", "totals", "bins", "both"}
    for kind, own in records.groupby("model"):
        assert set(own["known"]) == (known if "scorecard" in kind else {"file", "regions"})
    of_file = records[(records["model"] == "scorecard") & (records["known"] == "file")]
    assert of_file["bits"].isna().all()  # points without numbers of rows
    rows = records.dropna(subset=["bits"])
    assert (rows["least bits"] <= rows["bits"] + 1e-9).all()
    assert (rows["bits"] <= rows["unplaced bits"] + 1e-9).all()
    assert (rows["unplaced bits"] <= rows["domain bits"] + 1e-9).all()
    means = summary(pd.concat([records, records]))
    assert (means["runs"] == 2 * records.groupby(["model", "limit", "known"]).size().iloc[0]).all()


def test_measures_are_those_of_the_audit_for_a_row(split):
    card = hr.ScorecardClassifier(schema=split.schema).fit(split.X, split.y)
    arguments = dict(known_counts(split, has_points=True))
    for counts in ("totals", "bins", "both"):
        result = reconstruction(card, **arguments[counts])
        record = measures(result)
        assert record["bits"] * 60 == pytest.approx(result.entropy_bits)
        assert record["unplaced bits"] * 60 == pytest.approx(result.unplaced_bits)
        assert record["uncertainty"] == pytest.approx(record["bits"] / record["domain bits"])
