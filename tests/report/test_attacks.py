"""Attacks attached to a report: bound to the learner, ε and the rows, and judged beside what ε permits."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import AttackMeasure, AttackRecord, AttackSubject, Membership, ShadowMembership, Shadows
from hedgerow.report import Report, Subject
from hedgerow.report.appetite import DEFAULT
from hedgerow.report.attack_binding import Attached, attached
from hedgerow.report.attacks import (
    attack_checks,
    attack_section,
    largest_advantage,
    largest_auc,
    largest_success,
    permitted,
    refutations,
)
from hedgerow.report.promises import largest_rate
from tests.report.subjects import a_tree, no_guarantee_reason, without_privacy

ON = date(2026, 12, 1)
SCHEMA = hr.Schema({"age": hr.Integer(0, 99, (30, 60)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))
ROWS = pd.DataFrame({"age": np.arange(80) % 90, "smoker": np.arange(80) % 3 == 0})
ILL = pd.Series(np.where(np.arange(80) % 7 < 3, "yes", "no"), name="ill")
OTHERS, OTHERS_ILL = ROWS.iloc[:40], ILL.iloc[:40]


def learner(epsilon=1, **parameters):
    return hr.PrivateTreeClassifier(epsilon, schema=SCHEMA, **({"max_depth": 1} | parameters))


MODEL = learner().fit(ROWS, ILL)
PRIVATE = AttackSubject("Tree", (), Fraction(1), Fraction(0))
PLAIN = AttackSubject("Tree")


def shadowed(gap, splits=12, rows=40, subject=PLAIN):
    """Return the result of an attack on these rows over 12 splits, whose members are so much more confident."""
    rng, shape = np.random.default_rng(0), (splits, rows)
    inside, outside = expit(rng.normal(gap, 1, shape)), expit(rng.normal(0, 1, shape))
    shadows = Shadows(inside, outside, rng.random(shape) < 0.5)
    return ShadowMembership.of("a learner", "online", shadows, replace(subject, rows=rows))


def checks(model, *results):
    outcome = attack_checks(Subject(model), [Attached(result.record, "not_compared") for result in results])
    return {result.key: result for result in outcome}


def a_record(kind, subject=PRIVATE, **values):
    return AttackRecord(kind, "a method", subject, None, tuple(AttackMeasure(code, x) for code, x in values.items()))


# The binding to the learner


def test_an_attack_for_another_epsilon_is_refused():
    """0.2.0 took a result for ε = .01 for a model of ε = 1."""
    attacked = hr.audit.lira(learner(0.01), ROWS, ILL, repeats=5, random_state=0)
    for model in (MODEL, MODEL.tree_):
        with pytest.raises(ValueError, match="epsilon = 1/100; this model has epsilon = 1"):
            Report.of(model, attacks=attacked)
    right = hr.audit.lira(learner("1"), ROWS, ILL, repeats=5, random_state=0)
    assert Report.of(MODEL.tree_, attacks=right).attacks == (right.record,)
    assert Report.of(MODEL, attacks=[right, right.by("offline").record]).board is not None


CHANGES = {
    "depth": learner(max_depth=2),
    "objective": learner(objective="brier"),
    "counts": learner(release_counts=False),
    "schema": hr.PrivateTreeClassifier(1, schema=hr.Schema(SCHEMA.attributes[:1], SCHEMA.label), max_depth=1),
    "kind": hr.PrivateRuleListClassifier(1, schema=SCHEMA),
    "scorecard": hr.PrivateScorecardClassifier(1, schema=SCHEMA),
    "delta": hr.PrivateScorecardClassifier(1, delta=1e-6, schema=SCHEMA),
    "without privacy": DecisionTreeClassifier(max_depth=1),
    "seeded": learner(random_state=3),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("model", [MODEL, MODEL.tree_], ids=["estimator", "file"])
def test_an_attack_on_another_learner_is_refused(change, model):
    record = replace(a_record("one-run", epsilon=0.0), subject=AttackSubject.of(CHANGES[change], None))
    with pytest.raises(ValueError, match="another learner, with"):
        attached(record, Subject(model), None, None)


LEARNERS = [
    *(learner(), learner(search="greedy"), learner(objective="brier", epsilon=2), learner(release_counts=False)),
    *(hr.PrivateRuleListClassifier("1/3", schema=SCHEMA), hr.PrivateScorecardClassifier(1, schema=SCHEMA)),
    *(hr.PrivateScorecardClassifier(1, delta=1e-6, schema=SCHEMA), hr.PrivateAutoClassifier(1, schema=SCHEMA)),
    *(hr.PrivateTreeClassifier(0.1, schema=SCHEMA, costs={"no": {"yes": 1.0}, "yes": {"no": 5.0}}),),
    *(hr.OptimalTreeClassifier(schema=SCHEMA), hr.ScorecardClassifier(schema=SCHEMA)),
    hr.PrivateTreeClassifier(1, schema=replace(SCHEMA, unit=hr.Unit("person", 3))),
]


@pytest.mark.filterwarnings("ignore::hedgerow.errors.UnitWarning")
@pytest.mark.parametrize("own", LEARNERS, ids=lambda var: type(var).__name__)
def test_an_attack_on_the_own_learner_is_accepted(own):
    """Of the estimator and of its file, whatever was drawn."""
    fitted = own.fit(ROWS.assign(person=np.arange(80)), ILL)
    record = replace(a_record("one-run", epsilon=0.0), subject=AttackSubject.of(own, None))
    for model in (fitted, next(var for var in vars(fitted).values() if isinstance(var, hr.models.model.Model))):
        assert attached(record, Subject(model), None, None)[0].record is record


def test_a_learned_schema_is_no_part_of_the_learners_epsilon():
    declared = hr.Schema({"age": hr.Integer(0, 99), "smoker": hr.Boolean()}, SCHEMA.label)
    own = hr.PrivateTreeClassifier(1, schema=hr.Schema.learn(ROWS, declared, epsilon=2.0, bins=2), max_depth=1)
    model = own.fit(ROWS, ILL).tree_
    assert model.privacy.epsilon == 3
    record = replace(a_record("one-run", epsilon=0.0), subject=AttackSubject.of(own, None))
    assert attached(record, Subject(model), None, None)


def test_models_of_other_libraries_are_bound_by_class_and_parameters():
    X, y = ROWS.to_numpy(dtype=float), (ILL == "yes").to_numpy()
    forest = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    right = hr.audit.membership(DecisionTreeClassifier(max_depth=3), X, y, repeats=1, random_state=0)
    assert Report.of(forest, attacks=right, on=ON).attacks == (right.record,)
    for other in (DecisionTreeClassifier(max_depth=4), RandomForestClassifier(max_depth=3)):
        wrong = replace(right.record, subject=AttackSubject.of(other, None))
        with pytest.raises(ValueError, match=r"max_depth = 4; .* = 3|model has estimator = DecisionTree"):
            Report.of(forest, attacks=wrong)


def test_attacks_on_private_learners_do_not_match_other_models():
    record = a_record("exact-membership", privacy_loss=0.5)
    with pytest.raises(ValueError, match="epsilon = 1; this model has epsilon = none"):
        attached(record, Subject(without_privacy()), None, None)
    assert attached(record, Subject(a_tree(no_guarantee_reason())), None, None)  # seeded, and charged
    assert attached(replace(record, subject=PLAIN), Subject(a_tree(no_guarantee_reason())), None, None)


def test_known_noise_is_not_compared_with_epsilon():
    subject, item = (
        Subject(a_tree(no_guarantee_reason())),
        Attached(a_record("exact-membership", privacy_loss=2.0), "made"),
    )
    (check,) = attack_checks(subject, [item])
    assert (check.status, "no guarantee" in check.sentence) == ("review", True)
    section = attack_section(subject, [item])
    assert (section.grids[1].rows[0][5].value, "refutes" in section.answer) == (None, False)


# The binding to the rows


def test_an_attack_on_other_rows_is_refused():
    train, test = (ROWS, ILL), (OTHERS, OTHERS_ILL)
    subject = Subject(MODEL)

    def table(X, y, *, held_out=None, rows=train):
        record = replace(a_record("lira", auc=0.5), subject=AttackSubject.of(learner(), hr.audit.LabelledRows.of(X, y)))
        return attached(record, subject, rows, held_out)[0].table

    assert table(ROWS, ILL) == table(ROWS.iloc[::-1], ILL.iloc[::-1]) == "training"
    both = pd.concat([ROWS, OTHERS], ignore_index=True), pd.concat([ILL, OTHERS_ILL], ignore_index=True)
    assert table(*both, held_out=test) == "all"
    assert table(ROWS[:5], ILL[:5], rows=None) == "not_compared"
    for X, y in (both, (ROWS[:79], ILL[:79]), (ROWS.assign(age=3), ILL)):
        with pytest.raises(ValueError, match=f"another table \\({len(X)} rows\\)"):
            table(X, y)


def test_known_rows_and_a_candidate_are_the_training_rows():
    own = learner(release_counts=False)
    model = own.fit(ROWS, ILL)
    result = hr.audit.exact_inference(own, ROWS[:-1], ILL[:-1], candidates=(ROWS[-2:], ILL[-2:]))
    (item,) = attached(result, Subject(model), (ROWS, ILL), None)
    assert item.table == "training"
    with pytest.raises(ValueError, match="another table"):
        attached(result, Subject(model), (ROWS[:-2], ILL[:-2]), None)


# Sections and checks


def test_what_attacks_reached_stands_beside_what_epsilon_permits():
    (item,) = [Attached(shadowed(1, subject=PRIVATE).record, "training")]
    listed, measured = attack_section(Subject(a_tree()), [item]).grids
    assert (listed.rows[0][3].text, listed.rows[0][4].text) == ("1", "the training rows")
    rates = {row[2].value: row[5].value for row in measured.rows if row[1].value == "tpr"}
    assert rates == {0.01: largest_rate(0.01, 1, 0), 0.1: largest_rate(0.1, 1, 0)}  # 480 scores show no rate of .001
    (auc,) = [row for row in measured.rows if row[1].value == "auc"]
    assert auc[5].value == pytest.approx(np.e / (1 + np.e))
    (plain,) = [Attached(shadowed(1).record, "not_compared")]
    section = attack_section(Subject(without_privacy()), [plain])
    assert {row[5].value for row in section.grids[1].rows} == {None}
    assert "not compared with the rows" in {row[4].text for row in section.grids[0].rows}


def test_splits_of_fixed_size_have_the_limit_for_replacing_a_row():
    """0.2.0 printed the limit for adding or removing a row, which a private learner can exceed."""
    subject = replace(PRIVATE, rows=40)
    record = AttackRecord("membership", "m", subject, 1, (AttackMeasure("tpr", 0.2, at=0.1), AttackMeasure("auc", 0.6)))
    item = Attached(record, "training")
    bounds = [permitted(item, measure) for measure in record.measures]
    assert bounds == [largest_rate(0.1, Fraction(2), Fraction(0)), largest_auc(Fraction(2), Fraction(0))]


def test_without_an_attack_the_bound_is_stated_or_nothing_was_examined():
    assert "epsilon = 1" in attack_section(Subject(a_tree()), []).answer
    assert attack_section(Subject(without_privacy()), []).answer.startswith("Not examined")
    result = {check.key: check for check in Report.of(without_privacy(), on=ON).board.checks}
    assert (result["membership"].status, result["membership"].essential) == ("not_run", True)
    assert result["attack-lira"].status == "not_applicable"


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (1, 0), (Fraction(1, 10), Fraction(1, 100)), (800, 0)])
def test_the_largest_area_and_advantage_are_those_of_the_largest_rates(epsilon, delta):
    rates = np.linspace(0, 1, 20_001)
    curve = np.array([largest_rate(rate, Fraction(epsilon), Fraction(delta)) for rate in rates])
    assert largest_auc(Fraction(epsilon), Fraction(delta)) == pytest.approx(np.trapezoid(curve, rates), abs=1e-4)
    assert largest_advantage(Fraction(epsilon), Fraction(delta)) == pytest.approx((curve - rates).max(), abs=1e-4)


def test_the_largest_success_is_that_of_randomised_response():
    assert largest_success(Fraction(1), 0.5) == pytest.approx(np.e / (1 + np.e))
    assert largest_success(Fraction(0), 0.3) == 0.3


def test_an_attack_that_guesses_and_one_that_finds_rows():
    model = without_privacy()
    result = {name: checks(model, item) for name, item in {"guess": shadowed(0, 20, 200), "leak": shadowed(4)}.items()}
    status = {name: {key: item.status for key, item in each.items()} for name, each in result.items()}
    assert status["guess"] == {"attack-lira": "pass", "attack-lira-rows": "pass"}
    assert status["leak"] == {"attack-lira": "review", "attack-lira-rows": "not_run"}  # 2^-12 is above .005/40
    more = checks(model, shadowed(4, 16))
    assert more["attack-lira-rows"].status == "fail"
    undecided = checks(model, shadowed(0, 8))
    assert {item.status for item in undecided.values()} == {"not_run"}
    assert "More rows or repeats can show" in undecided["attack-lira"].sentence
    private = checks(a_tree(), shadowed(0, 20, 200, PRIVATE))
    assert {item.status for item in private.values()} == {"pass"}


def plain(rng, rows, gap):
    """Return the result of one split, of so many members and others, with normal scores of such a distance."""
    area = float(np.searchsorted(np.sort(rng.normal(0, 1, rows)), rng.normal(gap, 1, rows)).mean() / rows)
    curves = np.linspace(0, 1, 201)[None, :]
    return Membership("a learner", "an attack", (5, 5, rows, rows), curves, np.array([area]), subject=PLAIN)


@pytest.mark.parametrize(
    "draws", [200, pytest.param(1000, marks=pytest.mark.statistics), pytest.param(4000, marks=pytest.mark.slow)]
)
def test_the_level_of_checks_of_the_auc_of_one_model(draws):
    """Guessing is taken for an attack in 1 %; an AUC of .55 passes in 2.5 %; false alarm 10^-4."""
    rng, model = np.random.default_rng(0), without_privacy()
    edge = 2**0.5 * norm.ppf(DEFAULT.most_guessed)

    def share(gap, rows, wanted):
        return sum(checks(model, plain(rng, rows, gap))["attack-membership"].status == wanted for _ in range(draws))

    assert share(0, 300, "review") <= binom.ppf(1 - 1e-4, draws, 0.01)
    assert share(edge, 300, "pass") <= binom.ppf(1 - 1e-4, draws, 0.05)
    assert share(0, 1200, "pass") > 0.5 * draws
    assert share(2 * edge, 600, "review") > 0.9 * draws


def test_several_tests_share_the_false_alarms_of_attacks():
    rng = np.random.default_rng(0)
    item = plain(rng, 300, 0)
    p_value = 0.006
    area = 0.5 + norm.isf(p_value) * (601 / (12 * 300 * 300)) ** 0.5
    result = replace(item, aucs=np.array([area]))
    assert checks(without_privacy(), result)["attack-membership"].status == "review"
    assert checks(without_privacy(), result, item)["attack-membership"].status == "not_run"


def test_a_refuted_claim_is_reported_as_a_software_error():
    report = Report.of(MODEL, attacks=replace(shadowed(5).record, subject=AttackSubject.of(learner(), None)), on=ON)
    (check,) = [item for item in report.board.checks if item.key == "attack-refutation"]
    assert (check.status, check.informative) == ("fail", True)
    assert check.value > check.limit == largest_rate(0.01, Fraction(1), Fraction(0))
    assert "error in the software" in check.sentence
    assert report.board.section("attacks").answer.startswith("An attack refutes the claimed guarantee.")
    assert report.deciding.status == Report.of(MODEL, on=ON).deciding.status
    assert report.board.status == report.public.status
    assert "attack-refutation" not in checks(without_privacy(), shadowed(5))


@pytest.mark.parametrize(
    ("kind", "values", "beyond"),
    [
        ("exact-membership", {"privacy_loss": 1.0, "advantage": 0.46}, {"privacy_loss": 1.01}),
        ("exact-membership", {"privacy_loss": 1.0, "advantage": 0.46}, {"advantage": 0.47, "privacy_loss": 0.5}),
        ("exact-inference", {"success": 0.88, "baseline": 0.5}, {"success": 0.89, "baseline": 0.5}),
        ("exact-inference", {"success": 0.98, "baseline": 0.5, "models": 2}, {"success": 0.89, "baseline": 0.5}),
        ("one-run", {"epsilon": 0.9}, {"epsilon": 1.1}),
        ("empirical", {"epsilon": 0.9, "mu": 3.0}, {"epsilon": 1.1}),
    ],
)
def test_numbers_beyond_epsilon_refute_it_and_numbers_within_do_not(kind, values, beyond):
    within, refuting = (Attached(a_record(kind, **each), "training") for each in (values, beyond))
    assert list(refutations(within)) == []
    assert len(list(refutations(refuting))) == 1
    result = {check.key: check.status for check in attack_checks(Subject(a_tree()), [within])}
    assert result == {f"attack-{kind}": "pass"}
    assert {check.key for check in attack_checks(Subject(a_tree()), [within, refuting])} == {
        *result,
        "attack-refutation",
    }


def test_a_lower_bound_of_a_learner_without_a_guarantee_passes_nothing():
    for bound, status in ((0.0, "not_applicable"), (1.5, "review")):
        record = a_record("one-run", PLAIN, epsilon=bound)
        (check,) = attack_checks(Subject(without_privacy()), [Attached(record, "not_compared")])
        assert (check.key, check.status, check.value) == ("attack-one-run", status, bound)


def test_the_exact_risk_of_a_draw_is_held_against_epsilon():
    exact = hr.audit.exact_membership(learner(), ROWS, ILL)
    report = Report.of(MODEL, attacks=exact, train=(ROWS, ILL), on=ON)
    (check,) = [item for item in report.board.checks if item.key == "attack-exact-membership"]
    assert (check.status, check.informative, check.limit) == ("pass", True, 1)
    assert check.value == exact.realised_loss.max()
    assert "epsilon = 1" in report.board.section("attacks").answer


def test_attacks_are_on_the_boards_sheet_alone():
    exact = hr.audit.exact_membership(learner(), ROWS, ILL)
    with_attack, without = (Report.of(MODEL, attacks=given, on=ON) for given in (exact, None))
    assert with_attack.public == without.public
    assert without.board is None
    (digest,) = exact.subject.tables
    assert digest not in with_attack.to_html() + with_attack.to_json()


def test_other_results_are_refused():
    for given in (0.5, ["lira"], [shadowed(1).record, None]):
        with pytest.raises(TypeError, match=r"results of hedgerow\.audit"):
            Report.of(without_privacy(), attacks=given)
    with pytest.raises(ValueError, match="at most 20 attacks, got 21"):
        Report.of(without_privacy(), attacks=[shadowed(0, 6).record] * 21)


# Several attacks, and records with less than an attack measures


@pytest.mark.parametrize("kind", ["membership", "lira", "exact-membership", "exact-inference", "one-run", "empirical"])
@pytest.mark.parametrize("subject", [PRIVATE, PLAIN])
def test_a_record_without_its_number_passes_no_check(kind, subject):
    """The catalogue called an attack whose check yielded nothing no better than guessing."""
    model = a_tree() if subject is PRIVATE else without_privacy()
    result = {
        check.key: check.status
        for check in Report.of(model, attacks=a_record(kind, subject, mu=0.1), on=ON).board.checks
    }
    own = {key: status for key, status in result.items() if key.startswith(f"attack-{kind}")}
    assert set(own.values()) == {"not_run"}
    assert len(own) == (2 if kind == "lira" else 1)


def test_an_undecided_attack_hides_no_graver_one():
    """The check was that of the largest AUC: one of few rows hid one that is significant."""
    few = AttackMeasure("auc", 0.62, 0.4, 0.8, 0.95, p_value=0.2)
    many = AttackMeasure("auc", 0.58, 0.56, 0.6, 0.95, p_value=1e-9)
    attacks = [
        AttackRecord("membership", "m", replace(PLAIN, rows=rows), 1, (check,))
        for rows, check in ((20, few), (900, many))
    ]
    for order in (attacks, attacks[::-1]):
        result = {check.key: check for check in Report.of(without_privacy(), attacks=order, on=ON).board.checks}
        assert (result["attack-membership"].status, result["attack-membership"].value) == ("review", 0.58)


def test_the_same_attack_is_attached_once():
    """Copies would divide the share of false alarms, until a significant attack is none."""
    with pytest.raises(ValueError, match="given twice"):
        attached([shadowed(1), shadowed(1).record], Subject(without_privacy()), None, None)


def test_a_subclass_of_the_same_name_is_another_learner():
    other = type("PrivateTreeClassifier", (hr.PrivateTreeClassifier,), {"__module__": "elsewhere"})
    result = hr.audit.exact_membership(other(1, schema=SCHEMA, max_depth=1), ROWS, ILL)
    with pytest.raises(ValueError, match="estimator = elsewhere"):
        Report.of(MODEL, attacks=result)
