"""What is counted against `predict`, what is charged, and what is refused before."""

import warnings
from dataclasses import replace
from fractions import Fraction

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, DomainError, SchemaError, UnitWarning, WeakGuaranteeWarning
from hedgerow.evaluation import Evaluation
from hedgerow.models import Leaf, Tree
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema.schema import FROM_ROWS
from hedgerow.tally import Tally
from tests.evaluation.models import ATTRIBUTES, CASES, TARGETS, NoNoise, fitted, rows

NUMBER = [case for case in CASES if case[0] == "number"]
CLASSES = [case for case in CASES if case[0] != "number"]
WEIGHT = hr.schema.Weight("w", 2.0)
WARDS = {"ward": ["n", "s"]}


def named(found, name):
    (estimate,) = [item for item in found.estimates if item.name == name]
    return estimate


def evaluate(learner, frame, **given):
    given = {"epsilon": 1, "random_state": NoNoise(), **given}
    return hr.evaluate(learner, frame.drop(columns="y"), frame["y"], **given)


@pytest.mark.parametrize(("target", "family"), CLASSES)
def test_class_counts_match_predict(target, family):
    learner, frame = fitted(target, family), rows(300, target)
    result = evaluate(learner, frame, by="sex")
    said, classes = learner.predict(frame), TARGETS[target].classes
    groups = {"f": frame.sex == "f", "m": frame.sex == "m", "missing": frame.sex.isna()}
    assert result.groups == tuple(groups)
    predicted = np.array([band.predicted for band in result.bands])
    for inside, counts in zip(groups.values(), result.counts, strict=True):
        crossed = [[int(((frame.y == a) & (said == b) & inside).sum()) for b in classes] for a in classes]
        by_band = np.array(counts).reshape(len(classes), -1)
        assert [[int(line[predicted == b].sum()) for b in range(len(classes))] for line in by_band] == crossed
    assert result.matrix.sum() == 300
    assert result.accuracy.value == pytest.approx((said == frame.y).mean())
    for estimate, value in zip(result.estimates[1:], classes, strict=False):
        assert estimate.name == f"errors among true {value}"
        assert estimate.value == pytest.approx((said != frame.y)[frame.y == value].mean())
    value, share = result.baseline
    assert (value, share.value) == (frame.y.mode()[0], pytest.approx(frame.y.value_counts(normalize=True).max()))
    if target == "order":
        places = [pd.Series(estimate).map(classes.index).to_numpy() for estimate in (frame.y, said)]
        assert named(result, "mean distance in classes").value == pytest.approx(np.abs(places[0] - places[1]).mean())
        costs = {a: {b: 3 * i + j for j, b in enumerate(classes)} for i, a in enumerate(classes)}
        paid = np.mean([costs[a][b] for a, b in zip(frame.y, said, strict=True)])
        assert result.mean_cost(costs).value == pytest.approx(paid)


@pytest.mark.parametrize(("target", "family"), NUMBER)
def test_the_error_of_every_row_is_in_its_bin(target, family):
    learner, frame = fitted(target, family), rows(300, target)
    level_middle = np.floor(frame.y.clip(0, 19.999) / 2) * 2 + 1
    off = level_middle - learner.predict(frame)
    for row, error in zip(frame.index[:20], off, strict=False):
        result = evaluate(learner, frame.loc[[row]])
        (counts,) = result.counts
        ends = result.errors[counts.index(1)]
        assert sum(counts) == 1
        assert ends[0] - 1e-9 <= error <= ends[1] + 1e-9


@pytest.mark.parametrize(("target", "family"), NUMBER)
def test_number_measures_match_the_rows_up_to_rounding(target, family):
    learner, frame = fitted(target, family), rows(2000, target)
    result = evaluate(learner, frame, by=WARDS, epsilon=50)
    wards = frame.ward.map({"n": "n", "s": "s", "w": "outside"}).fillna("missing")
    for group, estimates in {None: result.estimates, **result.by_group}.items():
        inside = np.ones(2000, bool) if group is None else wards == group
        y = frame.y.clip(0, 20)[inside]
        off = y - learner.predict(frame)[inside]
        exact = {
            "mean absolute error": (off.abs().mean(), (y - y.median()).abs().mean()),
            "root mean squared error": ((off**2).mean() ** 0.5, y.std(ddof=0)),
            "true minus predicted": (off.mean(), None),
            "R²": (1 - (off**2).mean() / y.var(ddof=0), 0),
        }
        assert [estimate.name for estimate in estimates[:4]] == [*exact]
        for estimate, (true, constant) in zip(estimates, exact.values(), strict=False):
            assert estimate.on_rows[0] <= estimate.value <= estimate.on_rows[1]
            assert estimate.of_others[0] <= estimate.on_rows[0] <= estimate.on_rows[1] <= estimate.of_others[1]
            assert estimate.value == pytest.approx(true, abs=0.2)  # a level is 2 wide
            assert (estimate.constant is None) == (constant is None)
            if constant is not None:
                assert estimate.constant.value == pytest.approx(constant, abs=0.2)


def test_clipped_errors_are_compared_with_constants_clipped_likewise():
    """The model predicts the median for every row, and a tenth of the rows are far from it."""
    frame = pd.DataFrame({"smoker": np.zeros(1000, dtype=int), "y": np.repeat([0.5, 15.5], [900, 100])})
    schema = hr.Schema({"smoker": hr.Boolean()}, hr.Number("y", 0, 16, levels=16))
    learner = hr.PrivateTreeRegressor(epsilon=50, schema=schema, max_depth=0, objective="absolute", random_state=0)
    result = evaluate(learner.fit(frame[["smoker"]], frame["y"]), frame, epsilon=10)
    absolute, squared, _, r_squared, clipped = result.estimates
    assert absolute.value == pytest.approx(absolute.constant.value, rel=0.25)
    assert squared.value == pytest.approx(squared.constant.value, rel=0.15)
    assert r_squared.value == pytest.approx(0, abs=0.05)
    assert (clipped.name[:13], clipped.value) == ("errors beyond", pytest.approx(0.1))
    assert "Larger errors are clipped in all measures" in str(result)


def test_probability_measures_match_the_rows_rounded_to_bands():
    learner, frame = fitted("classes", "scorecard"), rows(800, "classes")
    result = evaluate(learner, frame, bands=100)
    truth, scores = (frame.y == "yes").to_numpy(), learner.predict_proba(frame)[:, 1]
    assert named(result, "AUROC").value == pytest.approx(roc_auc_score(truth, scores), abs=2e-3)
    assert named(result, "log-loss").value == pytest.approx(log_loss(truth, scores), abs=2e-3)
    assert named(result, "log-loss").constant.value == pytest.approx(log_loss(truth, np.full(800, truth.mean())))
    calibration = named(result, "observed minus predicted share of yes")
    assert calibration.value == pytest.approx(truth.mean() - scores.mean(), abs=2e-3)
    for number in (1, 4, 10):
        result = evaluate(learner, frame, bands=number)
        assert len(result.bands) <= max(number, 2) + 1
        assert result.accuracy.value == pytest.approx((learner.predict(frame) == frame.y).mean())
        places = [
            [band.low - 1e-9 <= score <= band.high + 1e-9 for band in result.bands].index(True) for score in scores
        ]
        middles = np.array([band.probabilities[1] for band in result.bands])[places]
        assert np.bincount(places, minlength=len(result.bands)).tolist() == [
            count for _, count, _ in result.reliability
        ]
        assert named(result, "log-loss").value == pytest.approx(log_loss(truth, middles))
        assert named(result, "AUROC").value == pytest.approx(roc_auc_score(truth, middles))


def test_the_mean_cost_uses_the_costs_of_the_fit_or_argument():
    frame = rows(400, "classes")
    schema = hr.Schema(ATTRIBUTES, TARGETS["classes"])
    learner = hr.PrivateTreeClassifier(4, schema=schema, class_weight={"yes": 5}, max_depth=2, random_state=0)
    learner.fit(frame.drop(columns=["y", "ward"]), frame["y"])
    weights = frame.y.map({"no": 1, "yes": 5})
    wrong = learner.predict(frame) != frame.y

    def cost(**given):
        return named(evaluate(learner, frame, **given), "mean cost")

    assert cost().value == pytest.approx((weights * wrong).mean())
    always = [(weights * (frame.y != value)).mean() for value in ("no", "yes")]
    assert cost().constant.value == pytest.approx(min(always))
    assert cost(class_weight={"no": 3}).value == pytest.approx((wrong * frame.y.map({"no": 3, "yes": 1})).mean())
    costs = {"no": {"yes": 2}, "yes": {"no": 7, "yes": 1}}
    expected = [costs[true].get(said, 0) for true, said in zip(frame.y, learner.predict(frame), strict=True)]
    assert cost(costs=costs).value == pytest.approx(np.mean(expected))
    without = evaluate(fitted("classes", "tree"), frame)
    assert not any(estimate.name == "mean cost" for estimate in without.estimates)
    huge = evaluate(learner, frame, costs={"no": {"yes": 2e300}, "yes": {"no": 7e300, "yes": 1e300}})
    assert huge.estimates[3].value == pytest.approx(1e300 * cost(costs=costs).value)
    assert huge.estimates[3].on_rows == pytest.approx(np.array(cost(costs=costs).on_rows) * 1e300)
    assert huge.verdict == evaluate(learner, frame, costs=costs).verdict


def test_a_list_of_groups_has_the_rest_and_the_missing_beside_it():
    frame = rows(200, "classes")
    result = evaluate(fitted("classes", "tree"), frame, by=WARDS)
    named = frame.ward.map({"n": "n", "s": "s", "w": "outside"}).fillna("missing").value_counts()
    assert {group: sum(counts) for group, counts in zip(result.groups, result.counts, strict=True)} == dict(named)


def test_arrays_labels_in_a_frame_and_tallies_count_the_same():
    learner, frame = fitted("classes", "scorecard"), rows(200, "classes").dropna()
    expected = evaluate(learner, frame, by="sex").counts
    source = {"epsilon": 1, "by": "sex", "random_state": NoNoise()}
    assert hr.evaluate(learner, frame, **source).counts == expected
    array = frame[list(ATTRIBUTES)].to_numpy(dtype=object)
    assert hr.evaluate(learner, array, frame["y"].to_numpy(), **source).counts == expected
    schema = hr.Schema(ATTRIBUTES, TARGETS["classes"])
    table = ibis.memtable(pa.Table.from_pandas(frame, preserve_index=False))
    assert hr.evaluate(learner, Tally.from_table(table, schema), **source).counts == expected


def test_a_model_of_one_class_uses_no_column():
    frame = rows(50, "classes")
    learner = hr.PrivateTreeClassifier(1, schema=hr.Schema(ATTRIBUTES, TARGETS["classes"]), max_depth=0, random_state=0)
    result = evaluate(learner.fit(frame.drop(columns="y"), frame["y"]), frame)
    assert result.verdict not in ("better", "worse")
    assert sorted(result.matrix.sum(axis=0)) == [0, 50]


def test_a_row_changes_one_count_and_the_charge_is_epsilon():
    frame, source = rows(80, "order"), NoNoise()
    learner, budget = fitted("order", "list"), hr.Budget(1)
    for size in (80, 79):
        result = evaluate(learner, frame[:size], epsilon="1/10", budget=budget, by="sex", random_state=source)
    (item, larger), (other, smaller) = source.asked
    assert item == other == DiscreteLaplace(Fraction(1, 10))
    assert np.abs(larger - smaller).sum() == 1
    assert budget.spent == Fraction(1, 5)
    assert result.privacy.epsilon == Fraction(1, 10)
    assert result.scale == 10


def test_a_row_changes_one_count_of_each_number_histogram():
    frame, source = rows(80, "number"), NoNoise()
    for accounting in ({}, {"delta": 1e-6, "accounting": "zcdp"}):
        budget = hr.Budget(1, **accounting)
        for size in (80, 79):
            result = evaluate(
                fitted("number", "tree"), frame[:size], epsilon="1/2", budget=budget, by="sex", random_state=source
            )
        (first, large), (second, numbers), (_, small), (_, fewer) = source.asked[-4:]
        assert (first, second) == (DiscreteLaplace(Fraction(1, 3)), DiscreteLaplace(Fraction(1, 6)))
        assert [np.abs(large - small).sum(), np.abs(numbers - fewer).sum()] == [1, 1]
        assert result.privacy.epsilon == Fraction(1, 2)
        assert [charge.epsilon for charge in budget.charges] == [Fraction(1, 2)] * 2
        assert (result.scale, result._scale(-1)) == (3, 6)


def test_both_histograms_of_a_unit_cost_epsilon_together():
    frame, source, budget = rows(90, "number").assign(who=np.arange(90) // 3), NoNoise(), hr.Budget(1)
    schema = hr.Schema(ATTRIBUTES, TARGETS["number"], unit=hr.Unit("who", 2))
    given = {"schema": schema, "epsilon": "1/2", "budget": budget, "random_state": source}
    result = evaluate(fitted("number", "tree"), frame, **given)
    assert [(mechanism, rows.sum()) for mechanism, rows in source.asked] == [
        (DiscreteLaplace(Fraction(1, 6)), 60),
        (DiscreteLaplace(Fraction(1, 12)), 60),
    ]
    assert [charge.epsilon for charge in result.privacy.charges] == [Fraction(1, 3), Fraction(1, 6)]
    assert budget.spent == Fraction(1, 2)
    assert (result.scale, result._scale(-1)) == (6, 12)
    assert all(estimate.of_others is None for estimate in result.estimates)


def test_probabilities_that_are_rounded_in_a_file_are_evaluated():
    frame, schema = rows(50, "order"), hr.Schema(ATTRIBUTES, TARGETS["order"])
    leaf = Leaf(label="low", probabilities=(0.3334, 0.3333, 0.3333))
    tree = Tree(schema, leaf, hr.privacy.PrivacyCard.none("example", software="hedgerow"))
    budget = hr.Budget(1)
    result = evaluate(tree, frame, budget=budget)
    assert sum(result.bands[0].probabilities) == pytest.approx(1)
    assert budget.spent == 1


def test_units_have_max_rows_and_proportionally_larger_noise():
    frame, source, budget = rows(90, "classes"), NoNoise(), hr.Budget(1)
    frame["who"] = np.arange(90) // 3
    schema = hr.Schema(ATTRIBUTES, TARGETS["classes"], unit=hr.Unit("who", 2))
    given = {"schema": schema, "epsilon": "1/2", "budget": budget, "random_state": source}
    result = evaluate(fitted("classes", "tree"), frame, **given)
    assert result.matrix.sum() == 60
    assert source.asked[0][0] == DiscreteLaplace(Fraction(1, 4))
    assert (result.scale, result.privacy.unit, budget.spent) == (4, hr.Unit("who", 2), Fraction(1, 2))
    assert all(estimate.of_others is None for estimate in result.estimates)
    assert "noise and sampling" not in str(result)
    with pytest.raises(DomainError, match="who"):
        evaluate(fitted("classes", "tree"), frame.drop(columns="who"), **given)
    assert budget.spent == Fraction(1, 2)


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ({"epsilon": 0}, ValueError, "epsilon"),
        ({"by": "ward"}, ValueError, "by"),
        ({"by": {"sex": ["f"]}}, ValueError, "schema"),
        ({"by": {"ward": ["n"], "x": ["s"]}}, ValueError, "got 2"),
        ({"by": {"ward": "north"}}, TypeError, "'north'"),
        ({"by": {"ward": None}}, TypeError, "got None"),
        ({"by": {"ward": list(range(30_000))}}, ValueError, "100,000"),
        ({"by": {"absent": ["n"]}}, DomainError, "absent"),
        (
            {"schema": hr.Schema({"age": hr.Integer(18, 90, cuts=(50,))}, TARGETS["classes"])},
            SchemaError,
            "as the model",
        ),
        ({"schema": hr.Schema(ATTRIBUTES, hr.Label("y", ("a", "b")))}, SchemaError, "label"),
        ({"schema": hr.Schema(ATTRIBUTES, TARGETS["classes"], weight=WEIGHT)}, SchemaError, "weights"),
        ({"by": {"ward": ["n", "missing"]}}, ValueError, "names"),
        ({"by": {"ward": ["n", "all rows"]}}, ValueError, "'all rows'"),
        ({"schema": "schema.yaml"}, TypeError, "schema"),
        ({"budget": 1}, TypeError, "budget"),
        ({"costs": {}, "class_weight": {}}, ValueError, "class_weight"),
        ({"costs": {"no": {"yes": 1}}}, ValueError, "cost"),
        ({"bands": 0}, ValueError, "bands"),
        ({"bands": 101}, ValueError, r"bands.* got 101"),
        ({"epsilon": 2}, BudgetExceededError, "epsilon=1 left"),
    ],
)
def test_invalid_arguments_charge_nothing(given, error, problem):
    budget = hr.Budget(1)
    with pytest.raises(error, match=problem):
        evaluate(fitted("classes", "scorecard"), rows(30, "classes"), **{"budget": budget, **given})
    assert not budget.charges


def test_a_weak_guarantee_warns_once_before_the_charge():
    model, table, budget = fitted("classes", "tree"), rows(30, "classes"), hr.Budget(1)
    with (
        pytest.warns(WeakGuaranteeWarning, match="epsilon = 11 protects little") as warned,
        pytest.raises(BudgetExceededError, match="Nothing was charged"),
    ):
        hr.evaluate(model, table, epsilon=11, budget=budget)
    assert [warning.filename for warning in warned] == [__file__]


def test_a_column_that_may_identify_persons_warns_before_the_charge():
    frame, budget = rows(30, "classes").assign(patient_id=range(30)), hr.Budget(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnitWarning, match="patient_id"):
            evaluate(fitted("classes", "tree"), frame, budget=budget, random_state=None)
        assert not budget.charges
        declared = replace(fitted("classes", "tree").tree_.schema, unit=hr.Unit("patient_id", 1))
        evaluate(fitted("classes", "tree"), frame, budget=budget, schema=declared, random_state=None)
    assert budget.spent == 1


def test_a_model_must_be_one_of_hedgerow_and_labels_must_fit():
    frame, budget = rows(30, "classes"), hr.Budget(1)
    learner, columns = fitted("classes", "tree"), frame.drop(columns="y")
    with pytest.raises(TypeError, match="got int"):
        hr.evaluate(3, frame, epsilon=1, budget=budget)
    with pytest.raises(DomainError, match="y"):
        hr.evaluate(learner, columns, epsilon=1, budget=budget)
    with pytest.raises(ValueError, match="labels"):
        hr.evaluate(learner, columns, frame["y"].to_numpy()[:9], epsilon=1, budget=budget)
    array = frame[list(ATTRIBUTES)].to_numpy(dtype=object)
    with pytest.raises(DomainError, match="'ward'"):
        hr.evaluate(learner, array, frame["y"].to_numpy(), epsilon=1, budget=budget, by=WARDS)
    tally = Tally.count(frame, "y", hr.Schema({"sex": ATTRIBUTES["sex"]}, TARGETS["classes"]))
    with pytest.raises(SchemaError, match="bins"):
        hr.evaluate(learner, tally, epsilon=1, budget=budget)
    assert not budget.charges


def test_a_row_that_does_not_fit_is_found_after_the_charge_and_not_quoted():
    frame, budget = rows(30, "classes"), hr.Budget(1)
    frame.loc[3, "y"] = "secret"
    with pytest.raises(DomainError, match="labels") as caught:
        evaluate(fitted("classes", "tree"), frame, budget=budget)
    assert "secret" not in f"{caught.value}{caught.value.__notes__}"
    assert budget.spent == 1


def test_the_card_notes_that_the_model_is_not_included():
    frame = rows(60, "classes")
    seeded = evaluate(fitted("classes", "tree"), frame, random_state=None)
    assert seeded.privacy.is_private
    assert "no guarantee holds for persons whose rows it was learned from" in seeded.privacy.notes[-1].words
    learner = hr.PrivateTreeClassifier(2, schema=hr.Schema(ATTRIBUTES, TARGETS["classes"]))
    proper = evaluate(learner.fit(frame.drop(columns="y"), frame["y"]), frame, random_state=None)
    assert "epsilon = 3" in proper.privacy.notes[-1].words
    persons = hr.Schema(ATTRIBUTES, TARGETS["classes"], unit=hr.Unit("who", 2))
    other = evaluate(learner, frame.assign(who=range(60)), schema=persons, random_state=None)
    assert "its card protects another" in other.privacy.notes[-1].words
    assert not evaluate(learner, frame, random_state=0).privacy.is_private


def test_the_card_has_the_charge_of_learned_group_bins():
    frame, label, source = rows(300, "classes"), TARGETS["classes"], {"epsilon": Fraction(1, 2), "bins": 3}
    declared = hr.Schema({"age": hr.Integer(18, 90), "smoker": hr.Boolean()}, label)
    item, other = (hr.Schema.learn(part, declared, **source) for part in (frame[:150], frame[150:]))
    assert item.charges == other.charges  # equal, and of other rows
    known = hr.Schema({"smoker": hr.Boolean()}, label, item.charges)
    learner = hr.PrivateTreeClassifier(1, schema=known, max_depth=1).fit(frame[["smoker"]], frame["y"])

    def card(schema, by):
        return hr.evaluate(learner, frame[150:], epsilon=1, schema=schema, by=by).privacy

    assert [card(other, "age").epsilon, card(other, None).epsilon, card(None, "smoker").epsilon] == [1.5, 1, 1]
    wards = hr.Categorical(("n", "s", "w"), missing="bin")
    seen = hr.Schema({"smoker": hr.Boolean(), "ward": wards}, label, no_guarantee=FROM_ROWS)
    assert (card(seen, "ward").no_guarantee, card(seen, "smoker").is_private) == ((FROM_ROWS,), True)


def test_the_card_has_the_charge_of_cut_points(tmp_path):
    frame, label = rows(300, "classes"), TARGETS["classes"]
    (tmp_path / "rules.txt").write_text(f"if age <= 40 then {label.classes[0]}\nelse {label.classes[1]}\n")
    declared = hr.Schema({"age": hr.Integer(18, 90), "smoker": hr.Boolean()}, label)

    def evaluated(seed, **given):
        schema = hr.Schema.learn(frame, declared, epsilon=0.5, random_state=seed)
        model = hr.read_model(tmp_path / "rules.txt", schema)
        return hr.evaluate(model, frame, epsilon=1, **{"by": "age", **given}).privacy

    card = evaluated(None)
    assert (card.epsilon, card.is_private) == (1.5, True)
    assert not evaluated(1).is_private
    assert evaluated(None, by=None).epsilon == 1.5
    budget = hr.Budget(3)
    schema = hr.Schema.learn(frame, declared, epsilon=0.5)
    model = hr.read_model(tmp_path / "rules.txt", schema)
    persons = replace(model.schema, unit=hr.Unit("person", 3))
    with pytest.raises(ValueError, match="unit"):
        hr.evaluate(model, frame.assign(person=1), epsilon=1, by="age", schema=persons, budget=budget)
    assert not budget.charges


def test_a_saved_evaluation_is_loaded_unchanged(tmp_path):
    for target, family in CASES:
        result = evaluate(fitted(target, family), rows(60, target), by=WARDS, random_state=None)
        result.save(tmp_path / "found.json")
        assert Evaluation.load(tmp_path / "found.json") == result
        (tmp_path / "found.json").unlink()
