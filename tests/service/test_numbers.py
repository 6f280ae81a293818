"""Tables whose target is a number are served: rows by bin, and private models of numbers, charged as for classes."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import BudgetExceededError, DomainError, QuestionError
from hedgerow.models.files import model_from_dict
from hedgerow.schema import Number, Schema
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows, open_rows
from hedgerow.tables.table_files import TextFormat
from hedgerow.tally import Tally
from tests.engines.load import into_postgres
from tests.service.wards import ANA, BINS, STAYS, Exact, curator_of, question, stays

BY = Schema.from_dict({"attributes": BINS})
TREE = question(epsilon="1/2", model="tree", parameters={"max_depth": 2, "objective": "absolute"})
LIST = question(epsilon="1/2", model="rule-list", parameters={"max_rules": 3, "objective": "quantile", "quantile": 0.9})
CARD = question(epsilon="1/2", model="scorecard", parameters={"points": 9})


@pytest.fixture
def curator(tmp_path):
    with curator_of(f"sqlite:///{tmp_path}/l.db", FrameRows.of(*stays(), STAYS), schema=STAYS) as opened:
        yield opened


@pytest.mark.parametrize("asked", [TREE, LIST, CARD], ids=["tree", "rule-list", "scorecard"])
def test_a_model_of_a_number_is_charged_once_and_replayed(curator, asked):
    cost = curator.cost(ANA, "wards", "fits", asked)
    first = curator.ask(Request(ANA, "wards", "fits", "one", asked))
    assert curator.ask(Request(ANA, "wards", "fits", "one", asked)) == first
    assert curator.ledger.account("wards", "ana").spent == Fraction(cost["epsilon"]) == Fraction(1, 2)
    model = model_from_dict(json.loads(first.body)["model"])
    assert model.schema == STAYS
    assert set(model.predict(stays()[0])) <= set(model.outcomes if asked is CARD else STAYS.target.values)
    assert model.privacy.epsilon == Fraction(1, 2)


def test_a_model_that_would_exceed_the_cap_touches_nothing(curator):
    for key, asked in (("1", TREE), ("2", LIST), ("3", TREE), ("4", LIST)):
        curator.ask(Request(ANA, "wards", "fits", key, asked))
    with pytest.raises(BudgetExceededError):
        curator.ask(Request(ANA, "wards", "fits", "5", TREE))
    assert curator.ledger.account("wards", "ana").spent == 2


@pytest.mark.parametrize(
    ("kind", "asked", "said"),
    [
        ("fits", {"model": "scorecard", "parameters": {"objective": "squared"}}, "not a parameter of a scorecard"),
        ("fits", {"model": "tree", "parameters": {"objective": "errors"}}, "squared, absolute, quantile"),
        ("fits", {"model": "tree", "parameters": {"class_weight": {"a": "b"}}}, "not a parameter of a tree"),
        ("fits", {"model": "tree", "parameters": {"clip": 0}}, "clip must be a number > 0"),
        ("fits", {"model": "tree", "parameters": {"quantile": "1e999"}}, "quantile must be between 0 and 1"),
    ],
)
def test_what_is_not_of_numbers_is_refused_before_a_charge(curator, kind, asked, said):
    with pytest.raises(QuestionError, match=said):
        curator.ask(Request(ANA, "wards", kind, "one", question(epsilon="1/4", **asked)))
    assert curator.ledger.account("wards", "ana").spent == 0


def test_rows_by_bin_are_those_of_the_table(tmp_path):
    rows = FrameRows.of(*stays(), STAYS)
    with curator_of(f"sqlite:///{tmp_path}/l.db", rows, schema=STAYS, noise=Exact()) as curator:
        answer = json.loads(
            curator.ask(Request(ANA, "wards", "marginals", "1", question(epsilon="1/4", bins=BINS))).body
        )
    age = np.bincount(np.digitize(stays()[0].age, [40.5, 60.5]), minlength=4)
    assert answer["rows"]["age"] == age.tolist()


def written(folder, decimal="."):
    frame, days = stays()
    whole = frame.assign(days=days)
    whole.to_csv(folder / "stays.csv", index=False, sep=";", decimal=decimal)
    whole.to_parquet(folder / "stays.parquet")
    return whole


def test_files_of_every_make_are_the_same_rows(tmp_path):
    frame, days = stays()
    expected = FrameRows.of(frame, days, STAYS).tally(STAYS)
    written(tmp_path)
    for name in ("stays.csv", "stays.parquet"):
        rows = open_rows(f"{tmp_path}/{name}", STAYS)
        assert rows.tally(STAYS).distance(expected) == 0
        with rows.opened() as target:
            assert target.rows_by_bin(BY).tolist() == FrameRows.of(frame, days, STAYS).target.rows_by_bin(BY).tolist()
    written(tmp_path, decimal=",")
    rows = open_rows(f"{tmp_path}/stays.csv", STAYS, TextFormat(decimal=","))
    assert rows.tally(STAYS).distance(expected) == 0


def test_a_table_of_postgres_is_served(postgres_url):
    import pyarrow as pa

    frame, days = stays()
    with into_postgres(postgres_url) as load:
        table = load(pa.Table.from_pandas(frame.assign(days=days), preserve_index=False))
        rows = open_rows(f"{postgres_url}::{table.get_name()}", STAYS)
        expected = FrameRows.of(frame, days, STAYS)
        assert rows.tally(STAYS).distance(expected.tally(STAYS)) == 0
        with rows.opened() as target:
            assert target.rows_by_bin(BY).tolist() == expected.target.rows_by_bin(BY).tolist()


@pytest.mark.parametrize("days", [[1.0, None], [1.0, 99.0], ["1", "CANARY"], [True, False]])
def test_rows_without_a_level_are_refused_when_the_service_starts(tmp_path, days):
    frame = stays()[0].head(2)
    schema = Schema(STAYS.attributes, Number("days", 0, 32, 8, outside="error"))
    frame.assign(days=days).to_csv(tmp_path / "s.csv", index=False)
    frame.assign(days=days).to_parquet(tmp_path / "s.parquet")
    for act in (
        lambda: FrameRows.of(frame, pd.Series(days, index=frame.index), schema),
        lambda: open_rows(f"{tmp_path}/s.csv", schema),
        lambda: open_rows(f"{tmp_path}/s.parquet", schema),
    ):
        with pytest.raises(DomainError) as raised:
            act()
        assert "CANARY" not in str(raised.value)


def test_dummy_rows_hold_numbers_between_the_bounds(curator):
    rows = pd.DataFrame(curator.dummy(ANA, "wards", 200))
    assert rows.days.between(0, 32).all()
    assert Tally.count(rows, "days", STAYS).rows().sum() == 200


HIGH = {"always": "True"}


def sums(part, days, name):
    """Return the sums by bin of age of a part of the answer, by definition, of an exact answer."""
    age = np.digitize(stays()[0].age, [40.5, 60.5])
    level = np.clip(np.ceil(days / 4) - 1, 0, 7).astype(int)
    steps = level if name in ("above", "right") else 7 - level
    assert part["age"] == [*np.bincount(age, weights=steps, minlength=3).astype(int).tolist(), 0]


@pytest.mark.parametrize(
    ("kind", "more", "parts"),
    [
        ("marginals", {"by": "levels"}, ("below", "above")),
        ("error-marginals", {"hypothesis": HIGH}, ("wrong", "right")),
    ],
)
def test_sums_of_levels_are_charged_noised_and_replayed_as_counts_are(tmp_path, kind, more, parts):
    asked = question(epsilon="1/4", bins=BINS, **more)
    rows = FrameRows.of(*stays(), STAYS)
    with curator_of(f"sqlite:///{tmp_path}/l.db", rows, schema=STAYS, noise=Exact()) as curator:
        cost = curator.cost(ANA, "wards", kind, asked)
        first = curator.ask(Request(ANA, "wards", kind, "1", asked))
        assert curator.ask(Request(ANA, "wards", kind, "1", asked)) == first
        assert curator.ledger.account("wards", "ana").spent == Fraction(cost["epsilon"]) == Fraction(1, 4)
    answer = json.loads(first.body)
    assert list(answer["variance"]) == list(BINS)
    assert np.mean([*answer["variance"].values()]) == pytest.approx(cost["noise_sd"] ** 2)
    assert cost["noise_sd"] < np.sqrt(2) * 2 * 7 * 4
    for name in parts:
        sums(answer[name], stays()[1], name)


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("marginals", {"by": "classes"}, "use level_marginals"),
        ("marginals", {"by": "steps"}, "Input should be 'rows', 'classes' or 'levels'"),
        ("error-marginals", {"hypothesis": {"always": "yes"}}, "must be classes of the target"),
        ("error-marginals", {"hypothesis": {"always": 6.0}}, "hypothesis"),
    ],
)
def test_questions_that_are_not_of_numbers_are_refused_before_a_charge(curator, kind, more, said):
    with pytest.raises(QuestionError, match=said):
        curator.ask(Request(ANA, "wards", kind, "one", question(epsilon="1/4", bins=BINS, **more)))
    assert curator.ledger.account("wards", "ana").spent == 0


def test_levels_of_classes_are_refused_before_a_charge(tmp_path):
    with curator_of(f"sqlite:///{tmp_path}/l.db") as curator:
        with pytest.raises(QuestionError, match="use class_marginals"):
            curator.ask(Request(ANA, "wards", "marginals", "1", question(epsilon="1/4", bins=BINS, by="levels")))
        assert curator.ledger.account("wards", "ana").spent == 0
