"""Models as targets of SACRO-ML, whose own attacks run on them."""

import json
import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.report import sacro_target
from hedgerow.report.sacro import CodedClassifier, ColumnCoding
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from tests.peers import peer
from tests.report.subjects import SCHEMA, a_table, a_tree, no_guarantee_reason, without_privacy

TYPED = pd.DataFrame(
    {
        "whole": [3, 1, 2],
        "real": [0.5, np.nan, 2.0],
        "text": ["b", "a", None],
        "truth": [True, False, True],
        "day": pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-03"]),
        "mixed": pd.Series([1, 2, 1], dtype="Int64"),
    }
)


def coded(model: Tree, learner: object = None) -> CodedClassifier:
    classifier = CodedClassifier(learner, ColumnCoding.of(a_table()[0]))
    classifier.model_ = model
    return classifier


def learned(**parameters: object) -> hr.PrivateTreeClassifier:
    return hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=SCHEMA, **parameters).fit(*a_table())


def test_a_table_is_decoded_to_what_was_encoded():
    coding = ColumnCoding.of(TYPED)
    X = coding.encode(TYPED)
    assert X.dtype == np.float64
    decoded = coding.decode(X)
    for name in TYPED:
        pd.testing.assert_series_equal(decoded[name], TYPED[name], check_dtype=False)
    assert decoded["whole"].dtype == np.int64
    assert X[2, 2] == -1  # missing text


def test_a_number_between_whole_numbers_is_rounded():
    coding = ColumnCoding.of(TYPED[["whole"]])
    assert coding.decode(np.array([[1.6]]))["whole"].tolist() == [2]


def test_the_coded_model_predicts_what_the_model_does():
    X, _ = a_table()
    model = a_tree()
    classifier = coded(model)
    codes = classifier.coding.encode(X)
    labels = np.array(model.schema.classes)[classifier.predict(codes)]
    assert labels.tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(classifier.predict_proba(codes), model.predict_proba(X))


def test_other_programs_read_from_a_file_that_a_seed_voids_the_guarantee():
    for seed, guarantee in ((None, "pure"), (0, "none")):
        clf = learned(random_state=seed)
        card = json.loads(json.dumps(clf.tree_.to_dict()))["privacy"]
        assert (clf.epsilon, card["epsilon"], card["epsilon_exact"], card["guarantee"]) == (1, 1.0, "1", guarantee)
        assert clf.privacy_.is_private == (guarantee != "none")


def test_a_copy_is_not_fitted_until_it_has_learned_its_own_model():
    X, y = a_table()
    classifier = coded(a_tree(), hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=SCHEMA))
    copy = clone(classifier)
    assert not hasattr(copy, "model_")
    copy.set_params(random_state=3).fit(classifier.coding.encode(X), (y == "yes").to_numpy().astype(np.int64))
    expected = learned(random_state=3).tree_
    assert copy.model_.to_dict() == expected.to_dict()
    assert clone(classifier).get_params(deep=False).keys() == classifier.get_params(deep=False).keys()


def test_a_model_from_a_file_learns_no_shadow_models():
    X, _ = a_table()
    classifier = coded(a_tree())
    with pytest.raises(ValueError, match="pass the estimator"):
        classifier.fit(classifier.coding.encode(X), np.zeros(len(X), dtype=np.int64))


def test_other_models_and_numbers_are_refused():
    with pytest.raises(TypeError, match="must be a hedgerow model"):
        sacro_target(object(), a_table(), a_table())
    schema = Schema({"age": Integer(0, 99, cuts=(30,))}, hr.schema.Number("cost", 0, 10))
    regressor = hr.PrivateTreeRegressor(epsilon=1, max_depth=1, schema=schema)
    X = pd.DataFrame({"age": [20, 40] * 20})
    with pytest.raises(TypeError, match="predicts a number"):
        sacro_target(regressor.fit(X, X["age"] / 10), (X, X["age"]), (X, X["age"]))


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def attacks(folder, **parameters):
    """Return SACRO-ML's attacks by their names, each without a report in a file."""
    logging.getLogger("sacroml").setLevel(logging.WARNING)
    logging.getLogger("acro").setLevel(logging.WARNING)
    names = {
        "worst_case_attack": ("WorstCaseAttack", {"n_reps": 2}),
        "structural_attack": ("StructuralAttack", {"report_individual": True}),
        "likelihood_attack": ("LIRAAttack", {"n_shadow_models": 4}),
        "attribute_attack": ("AttributeAttack", {"n_cpu": 1}),
    }
    return {
        module: getattr(peer(f"sacroml.attacks.{module}"), name)(
            output_dir=str(folder / module), write_report=False, **own, **parameters
        )
        for module, (name, own) in names.items()
    }


@pytest.mark.peers("sacroml")
def test_the_attacks_of_sacro_run_on_a_model_and_report_its_epsilon(tmp_path):
    budget = hr.Budget(1)
    X, y = a_table()
    clf = learned(budget=budget)
    target = sacro_target(clf, (X, y), (X[::2], y[::2]), name="ill")
    assert target.model.model.epsilon == 1
    for name, attack in attacks(tmp_path).items():
        metadata = attack.attack(target)["metadata"]
        stated = metadata["target_model_params"]
        assert (stated["epsilon"], stated["delta"], "learner__epsilon" in stated) == (1.0, 0.0, False), name
    assert budget.spent == 1  # by the fit, and not by shadow models


@pytest.mark.peers("sacroml")
def test_shadow_models_of_other_noise_are_refused():
    clf = learned(budget=hr.Budget(rho=1))
    with pytest.raises(ValueError, match="budget in rho"):
        sacro_target(clf, a_table(), a_table())
    assert sacro_target(clf.tree_, a_table(), a_table()).model.model.epsilon == 1


@pytest.mark.peers("sacroml")
@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason())])
def test_a_model_without_a_guarantee_has_no_epsilon(model):
    target = sacro_target(model, a_table(), a_table())
    assert (target.model.model.epsilon, target.model.model.delta) == (None, None)
    assert target.model.model_params["epsilon"] is None


@pytest.mark.peers("sacroml")
def test_the_structural_attack_finds_the_leaves_of_a_model(tmp_path):
    X, y = a_table()
    model = without_privacy(((3, 27), (20, 0), (40, 0)))  # smokers, and others, up to 60: the same shares
    attack = attacks(tmp_path)["structural_attack"]
    attack.attack(sacro_target(model, (X, y), (X, y)))
    assert attack.record_level_results.k_anonymity == [60] * 60 + [30] * 30
    assert attack.record_level_results.class_disclosure == [True] * 60 + [False] * 30
    assert attack.results.train_acc == pytest.approx((model.predict(X) == y).mean())


def tree_of_bits(bits: np.ndarray, labels: np.ndarray, depth: int) -> Tree:
    """Return the full tree of the first bits, with the exact counts of its leaves; an empty leaf is of class 0."""

    def grown(place: int, inside: np.ndarray) -> Leaf | Split:
        if place == depth:
            items = int(labels[inside].sum())
            return Leaf((int(inside.sum()) - items, items))
        literal = Literal(f"bit{place}", "true", ())
        return Split(literal, grown(place + 1, inside & bits[:, place]), grown(place + 1, inside & ~bits[:, place]))

    schema = Schema({f"bit{place}": Boolean() for place in range(bits.shape[1])}, Label("y", (0, 1)))
    return Tree(schema, grown(0, np.ones(len(bits), dtype=bool)), PrivacyCard.none("learned without privacy"))


@pytest.mark.peers("sacroml")
@pytest.mark.parametrize(("depth", "is_caught"), [(9, True), (1, False)])
def test_the_worst_case_attack_detects_memorised_rows(tmp_path, depth, is_caught):
    rng = np.random.default_rng(0)
    bits = rng.permutation(512)[:, None] >> np.arange(9) & 1 == 1
    labels = rng.integers(2, size=512)
    frame = pd.DataFrame(bits, columns=[f"bit{place}" for place in range(9)])
    parts = [(frame[:256], pd.Series(labels[:256])), (frame[256:], pd.Series(labels[256:], index=frame.index[256:]))]
    target = sacro_target(tree_of_bits(bits[:256], labels[:256], depth), *parts)
    result = attacks(tmp_path)["worst_case_attack"].attack(target)
    instances = result["attack_experiment_logger"]["attack_instance_logger"]
    auc = np.mean([instance["AUC"] for instance in instances.values()])
    assert (auc > 0.65) == is_caught


@pytest.mark.peers("sacroml")
def test_a_target_is_saved_and_loaded_by_sacro(tmp_path):
    X, y = a_table()
    sacro_target(learned(), (X, y), (X, y)).save(str(tmp_path / "target"))
    loaded = peer("sacroml.attacks.target").Target()
    loaded.load(str(tmp_path / "target"))
    assert loaded.model.model.epsilon == loaded.model.model_params["epsilon"] == 1
    np.testing.assert_array_equal(loaded.X_train, ColumnCoding.of(X).encode(X))
    assert loaded.get_generalisation_gap() == 0
