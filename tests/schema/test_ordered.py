import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers.names import meaning
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.learn.search.space import Space
from hedgerow.models import AttributePoints, Rule, RuleList, Scorecard, load_model
from hedgerow.models.conditions import conditions, first_that_holds
from hedgerow.models.points import point_bins
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Literal
from hedgerow.tables.frames import Table

STAGES = ("I", "II", "III", "IV")
STAGE = hr.Ordered(STAGES, missing="bin")
SCHEMA = hr.Schema({"stage": STAGE}, hr.Label("ill", ("no", "yes")))
CARD = PrivacyCard.none("example", software="hedgerow")


def test_a_file_declares_the_order_which_is_part_of_the_digest(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("attributes:\n  stage: {kind: ordered, values: [I, II, III, IV], missing: bin}\n")
    loaded = hr.Schema.load(path)
    assert loaded["stage"] == STAGE
    assert str(loaded) == "stage  ordered      I, II, III, IV, missing: bin"
    assert hr.Schema.from_dict(loaded.to_dict()) == loaded
    assert hr.Schema({"stage": hr.Ordered(STAGES[::-1], missing="bin")}).digest != loaded.digest


def test_trees_divide_along_the_order_alone():
    space = Space.of_trees(SCHEMA)
    literals = [str(literal) for antecedent in space.antecedents for literal in antecedent]
    along = [f"stage {operator} {value}" for operator in ("<=", ">") for value in STAGES[:-1]]
    assert literals == [*along, "stage is missing"]  # missing values are on the other side of >


def test_a_tree_finds_a_division_that_no_single_value_is():
    rows = pd.DataFrame({"stage": [*STAGES, None] * 40})
    y = np.where(rows["stage"].isin(["I", "II"]), "no", "yes")
    model = hr.OptimalTreeClassifier(schema=SCHEMA, max_depth=1).fit(rows, y)
    assert model.tree_.root.literal == Literal("stage", "<=", ("II",))
    assert (model.predict(rows) == y).all()


def test_a_literal_with_a_single_value_is_read():
    for operator, wanted in (("=", [False, True, False, False, False]), ("!=", [True, False, True, True, False])):
        assert STAGE.truth(Literal("stage", operator, ("II",))).tolist() == wanted
    with pytest.raises(SchemaError, match="I, II, III, IV; got stage <= V"):
        STAGE.extent(Literal("stage", "<=", ("V",)))
    with pytest.raises(SchemaError, match="on no bin"):
        STAGE.extent(Literal("stage", "between", ("III", "II")))


def test_neighbouring_values_with_equal_points_share_a_line():
    card = Scorecard(SCHEMA, (0,), (AttributePoints("stage", ((1,), (1,), (3,), (1,), (0,))),), 0.1, None, CARD)
    assert [bin_.name for bin_ in point_bins(card.parts[0], STAGE)] == ["I to II", "III", "IV", "missing"]
    assert "I to II" in str(card)
    assert "'I', 'II'" in card.to_sql("duckdb")


def test_every_value_except_the_last_has_an_indicator():
    domain = Domain.of(SCHEMA, independent_bits=True)
    assert domain.possible_rows == 2 ** (3 + 1)
    with pytest.raises(ArgumentError, match=r"stage != II .*`independent_bits=False`"):
        domain._masks(Literal("stage", "!=", ("II",)))
    assert domain._masks(Literal("stage", "=", ("II",))) == {0: 0b01, 1: 0b10}


def test_columns_of_models_are_resolved():
    assert meaning("stage <= II", SCHEMA) == Literal("stage", "<=", ("II",))
    assert meaning("stage_II", SCHEMA) == Literal("stage", "=", ("II",))
    codes = hr.Schema({"score": hr.Ordered((1, 2, 3))})
    assert meaning("score <= 2", codes) == Literal("score", "<=", (2,))


def test_a_model_of_codes_is_read_along_the_order():
    rows = pd.DataFrame({"score": [1, 2, 3, 4, 5] * 20})
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, rows["score"].isin([2, 3]))
    schema = hr.Schema({"score": hr.Ordered((1, 2, 3, 4, 5))}, hr.Label("y", (False, True)))
    paths = paths_of(tree, schema)[0].paths
    assert {*conditions(paths, schema, "always")} == {"score <= 1", "1 < score <= 3", "score > 3"}
    bins = {"score": schema["score"].encode(Table.of(rows).column("score", 0))}
    leaves = first_that_holds(paths, schema, bins, len(rows))
    assert len(set(zip(leaves.tolist(), tree.apply(rows).tolist(), strict=True))) == 3


def test_values_that_spell_dates_stay_values(tmp_path):
    dates = hr.Ordered(("2020-01-31", "1999-12-31", "never"))
    schema = hr.Schema({"due": dates}, hr.Label("y", (0, 1)))
    for literal in dates.literals("due", negations=True):
        rules = (Rule((literal,), label=1), Rule((), label=0))
        RuleList(schema, rules, CARD).save(tmp_path / "model.json")
        model = load_model(tmp_path / "model.json")
        rows = pd.DataFrame({"due": [*dates.values]})
        assert model.predict(rows).tolist() == dates.truth(literal).astype(int).tolist()
        assert model.schema == schema


@pytest.mark.parametrize("values", list(itertools.permutations("abc")))
def test_every_order_has_its_own_tests(values):
    kind = hr.Ordered(values)
    runs = {tuple(kind.truth(literal)) for literal in kind.literals("x", negations=True)}
    assert runs == {
        tuple(start <= place < stop for place in range(3))
        for start, stop in itertools.combinations(range(4), 2)
        if stop - start < 3
    }
