"""Several curators: counts add, a row is charged by its own curator, a person by all, and nobody is asked twice."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, ArgumentTypeError, ServiceError
from hedgerow.oracle import choose_bins
from hedgerow.oracle.answer_noise import AnswerHistograms
from tests.service.wards import Exact

DATA = hr.datasets.load("breast_cancer")
X, Y = DATA.frame.iloc[:, :4], DATA.labels
PARTS = (slice(None, 150), slice(150, 400), slice(400, None))
BINS = choose_bins(X, 4)


def oracles(epsilon=(1, 1, 1), max_queries=3, **more):
    return [
        hr.Oracle(X[part], Y[part], hr.Budget(e), max_queries, classes=DATA.schema.classes, **more)
        for part, e in zip(PARTS, epsilon, strict=True)
    ]


def test_answers_add_up_to_those_of_the_pooled_table():
    pooled = hr.Oracle(X, Y, hr.Budget(1), 3, classes=DATA.schema.classes, random_state=Exact())
    federated = hr.oracle.FederatedOracle(oracles(random_state=Exact()))
    tree = hr.OptimalTreeClassifier(max_depth=2, schema=hr.Schema(dict(BINS.attributes), DATA.schema.label)).fit(X, Y)
    assert np.array_equal(federated.marginals(BINS).rows, pooled.marginals(BINS).rows)
    assert np.array_equal(federated.class_marginals(BINS).rows, pooled.class_marginals(BINS).rows)
    item, other = federated.error_marginals(BINS, tree.tree_), pooled.error_marginals(BINS, tree.tree_)
    assert np.array_equal(item.wrong, other.wrong)
    assert np.array_equal(item.right, other.right)
    assert item.noise.counts == pytest.approx([3 * variance for variance in other.noise.counts])
    assert (federated.columns, federated.classes, federated.label.classes) == (
        pooled.columns,
        pooled.classes,
        pooled.classes,
    )
    assert federated.queries_left == 0


def test_noise_adds_up_in_variance():
    federated, item = hr.oracle.FederatedOracle(oracles()), oracles()[0]
    assert federated.noise_scale(BINS.sizes) == pytest.approx(np.sqrt(3) * item.noise_scale(BINS.sizes))
    noise, of_one = federated.marginals(BINS).noise, item.marginals(BINS).noise
    assert noise.scale == pytest.approx(federated.noise_scale(BINS.sizes))
    assert noise.by_bin == pytest.approx(3 * of_one.by_bin)
    assert noise.totals == pytest.approx([3 * total for total in of_one.totals])
    assert noise.groups == of_one.groups == (0, 0, 0, 0)


def test_answers_of_curators_whose_noise_differs_add_up():
    """One adds up rho, so that its attributes share no noise: of the sum they share none."""
    in_rho = hr.Oracle(X, Y, hr.Budget(1, 1e-6, accounting="zcdp"), 1, classes=DATA.schema.classes)
    shared = hr.Oracle(X, Y, hr.Budget(2), 1, classes=DATA.schema.classes)
    noise = hr.oracle.FederatedOracle([in_rho, shared]).marginals(BINS).noise
    scale = len(BINS) / float(in_rho.privacy.epsilon)
    (charge,) = shared.privacy.charges
    of_shared = AnswerHistograms(charge.epsilon, BINS.sizes).noise
    assert noise.counts == pytest.approx([2 * scale**2 + variance for variance in of_shared.counts])
    assert noise.groups == (0, 1, 2, 3)


def test_the_card_has_the_largest_charge_and_names_the_sum():
    federated = hr.oracle.FederatedOracle(oracles((1, 2, Fraction(1, 2)), 1))
    assert not federated.privacy.is_private
    federated.marginals(BINS)
    card = federated.privacy
    assert (card.epsilon, card.is_private) == (2, True)
    assert card.rho == max(oracle.privacy.rho for oracle in federated._oracles)
    notes = " ".join(note.words for note in card.notes)
    assert "curator 2: epsilon 2" in notes
    assert "sum, epsilon 3.5" in notes


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_a_person_with_rows_at_every_curator_pays_the_sum(release):
    """All rows of a unit are out of every table at once: the two answers are ε apart, and ε again."""
    unit = hr.Unit("who", 2)
    data = pd.DataFrame({"who": ["ann", "ann", "ben"], "size": [1.0, 2.0, 3.0]})
    bins = hr.Schema({"size": hr.Real(0, 10, (2.5,), missing="bin", outside="clip")})
    given = [hr.Oracle(data, [1, 1, 0], hr.Budget(e, "1e-6"), 1, unit=unit, release=release) for e in (1, "0.5")]
    federated = hr.oracle.FederatedOracle(given)
    federated.marginals(bins)
    card, cards = federated.privacy, [oracle.privacy for oracle in given]
    assert card.unit == federated.unit == unit
    assert card.epsilon == Fraction(3, 2)
    assert card.delta == sum(item.delta for item in cards)
    assert card.rho == sum(item.rho for item in cards)
    assert card.notes[-1].words == "rows of one who can be with every curator: the charge is the sum"
    assert not [note for note in card.notes if note.code == "row_at_one_curator"]


def test_a_void_answer_voids_all():
    given = oracles()
    given[1] = oracles(random_state=1)[1]
    federated = hr.oracle.FederatedOracle(given)
    federated.marginals(BINS)
    assert "seeded" in federated.privacy.no_guarantee_reason


def test_sources_of_noise_are_named_once():
    given = [*oracles(random_state=0), *oracles()]
    pairs = [hr.oracle.FederatedOracle(pair) for pair in (given[::2], given[1::2])]
    federated = hr.oracle.FederatedOracle(pairs)
    federated.marginals(BINS)
    sources = {source.code for source in federated.privacy.noise["sources"]}
    assert sources == {"seeded_generator", "operating_system"}


class Dropping:
    """An oracle whose curator does not answer at first."""

    def __init__(self, oracle, times):
        self._oracle, self.times = oracle, times

    def __getattr__(self, name):
        return getattr(self._oracle, name)

    def marginals(self, bins):
        if self.times:
            self.times -= 1
            raise ServiceError("the service did not answer")
        return self._oracle.marginals(bins)


def test_a_curator_who_drops_out_is_asked_again_alone():
    item, two, three = oracles()
    federated = hr.oracle.FederatedOracle([item, Dropping(two, 2), three])
    for _ in range(2):
        with pytest.raises(ServiceError):
            federated.marginals(BINS)
    assert [oracle.queries_left for oracle in (item, two, three)] == [2, 3, 3]
    federated.marginals(BINS)
    assert [oracle.queries_left for oracle in (item, two, three)] == [2, 2, 2]
    federated.marginals(BINS)
    assert federated.queries_left == 1


def notes(error):
    return getattr(error, "__notes__", [])


def test_a_partly_answered_question_states_that_its_charges_stay():
    """What was found: "Nothing was charged", said the second curator's budget; the first had charged all it had."""
    item, two, three = oracles()
    federated = hr.oracle.FederatedOracle([item, Dropping(two, 1), three])
    with pytest.raises(ServiceError, match="1 of 3 curators") as caught:
        federated.marginals(BINS)
    assert len(notes(caught.value)) == 1
    federated.marginals(BINS)
    with pytest.raises(ServiceError) as caught:
        hr.oracle.FederatedOracle([Dropping(two, 1), item]).marginals(BINS)
    assert notes(caught.value) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, KeyError])
def test_any_error_of_a_curator_states_that_other_charges_stay(failure, monkeypatch):
    item, two, _ = oracles()
    federated = hr.oracle.FederatedOracle([item, two])
    monkeypatch.setattr(two, "class_marginals", lambda _: (_ for _ in ()).throw(failure))
    with pytest.raises(failure, match="1 of 2 curators stays charged"):
        federated.class_marginals(BINS)


def test_learners_take_it_as_one_oracle():
    learned = hr.MarginalLogisticClassifier(reweight=False).fit(
        X, oracle=hr.oracle.FederatedOracle(oracles((8, 8, 8), 1))
    )
    assert learned.score(X, Y) > 0.85
    assert learned.privacy_.epsilon == 8


def test_oracles_that_do_not_go_together_are_refused():
    item, two, _ = oracles()
    other = hr.Oracle(X.iloc[:, :3], Y, hr.Budget(1), classes=DATA.schema.classes)
    gaussian = hr.Oracle(X, Y, hr.Budget(1, 1e-6), release="gaussian", classes=DATA.schema.classes)
    ratios = [hr.Oracle(X, Y, hr.Budget(1), release="ratio", classes=DATA.schema.classes) for _ in range(2)]
    whose = X.assign(who=range(len(X)))
    of_persons, of_one_visit = (
        hr.Oracle(whose, Y, hr.Budget(1), classes=DATA.schema.classes, unit=hr.Unit("who", rows)) for rows in (2, 1)
    )
    for given, said in (
        ([item], "two or more"),
        ([item, two, item], "two or more"),
        ([item, other], "same columns"),
        ([item, gaussian], "same release"),
        ([of_persons, of_one_visit], "same unit"),
        (ratios, "counts"),
    ):
        with pytest.raises(ArgumentError, match=said):
            hr.oracle.FederatedOracle(given)
    with pytest.raises(ArgumentTypeError):
        hr.oracle.FederatedOracle([item, "two"])
    assert repr(hr.oracle.FederatedOracle([item, two])) == "<FederatedOracle of 2 curators, 3 questions left>"
