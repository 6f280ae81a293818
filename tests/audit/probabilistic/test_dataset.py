import re
from collections import Counter
from itertools import product
from math import log2, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import hedgerow as hr
from hedgerow.audit.counting.bin_values import Unspecified
from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import DomainError, SchemaError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema
from tests.audit.probabilistic.examples import (
    A1,
    BITS,
    CARD,
    FIGURE_1,
    LABEL,
    LIST_SCHEMA,
    RULE_LIST_1,
    TABLE_I,
    TABLE_III,
    table_ii,
)
from tests.audit.probabilistic.worlds import entropy, worlds
from tests.models.strategies import rule_lists, trees

ALARM = 1e-4  # how often a right sampler would fail, were the seed not fixed
NOISY = PrivacyCard((), noise="seeded", software="hedgerow", no_guarantee="example")
MODELS = rule_lists(st.just(NOISY)) | trees(st.just(NOISY))
EITHER = {(0, 0), (0, 1), (1, 0)}


def squeezed(line):
    """Return a line with two spaces for every two or more."""
    return re.sub(r"  +", "  ", line)


def test_table_ii_of_the_paper():
    # PDR, Section II-B: Dist 0.736; a1 of x3 keeps log 2 / log 6 = 0.387
    for known in (table_ii(), ProbabilisticDataset.of(FIGURE_1)):
        a1, a3 = log2(4) / log2(6), log2(2) / log2(3)
        by_hand = (2 * (a1 + 1 + a3) + (log2(2) / log2(6) + 1 + a3) + (1 + 1 + 0)) / 12
        assert known.dist() == pytest.approx(by_hand, abs=1e-12)
        assert round(known.dist(), 3) == 0.736
        assert round(known.rows[2].factors[0].entropy_bits / known.domains[0].bits, 3) == 0.387
        assert known.entropy_bits == pytest.approx(2 * log2(16) + log2(8) + log2(12))
        assert known.labels == (0, 0, 1, 1)
        assert [row.possible_rows for row in known.rows] == [16, 16, 8, 12]
        assert known.is_compatible(TABLE_I if known.label == "y" else TABLE_I.drop(columns="y"))


def test_table_ii_as_printed():
    assert str(table_ii()).splitlines() == [
        "row  a1                        a2      a3      label",
        "x1   {12, 13, 14, 15}          {0, 1}  {2, 3}  0",
        "x2   {12, 13, 14, 15}          {0, 1}  {2, 3}  0",
        "x3   {10, 11}                  {0, 1}  {2, 3}  1",
        "x4   {10, 11, 12, 13, 14, 15}  {0, 1}  1       1",
    ]


def test_tables_v_to_vii_of_the_paper():
    # PDR, Section III-C: Dist is 0.5 twice, Dist_G 0.613 and 0.387
    domains = {"a1": (0, 1), "a2": (1, 2, 3)}
    first, second = (ProbabilisticDataset(domains, [known]) for known in ({"a1": 1}, {"a2": 1}))
    assert first.dist() == second.dist() == 0.5
    assert round(first.uncertainty, 3) == 0.613
    assert round(second.uncertainty, 3) == 0.387
    original = pd.DataFrame({"a1": [1], "a2": [1]})
    assert first.is_compatible(original)
    assert second.is_compatible(original)


def test_rule_list_1_of_the_paper():
    # PDR, Table IV: the worlds of its five rows, counted by hand, are 2, 2, 3, 3, 3
    known = ProbabilisticDataset.of(RULE_LIST_1)
    assert [row.possible_rows for row in known.rows] == [2, 2, 3, 3, 3]
    assert known.entropy_bits == pytest.approx(2 + 3 * log2(3))
    either = "(a1, a2) ∈ {(False, False), (False, True), (True, False)}"
    assert [squeezed(line).split("  ") for line in str(known).splitlines()] == [
        ["row", "a1", "a2", "a3", "y"],
        ["x1", "True", "True", "{False, True}", "1"],
        ["x2", "True", "True", "{False, True}", "1"],
        ["x3", either, "see a1", "True", "0"],
        ["x4", either, "see a1", "True", "0"],
        ["x5", either, "see a1", "False", "1"],
    ]
    assert known.is_compatible(TABLE_III)
    assert not known.is_compatible(TABLE_III.assign(y=[1, 1, 0, 1, 1]))
    assert not known.is_compatible(TABLE_III.assign(a2=[1, 1, 1, 1, 0]))
    with pytest.raises(ValueError, match="uncertainty"):
        known.dist()


def some_supports(data, worlds):
    """Draw rows for regions that can hold some."""
    return [data.draw(st.integers(0, 3)) if count else 0 for count in worlds]


@given(MODELS, st.data())
def test_the_dataset_of_a_model_has_the_entropy_of_its_reconstruction(model, data):
    paths, schema = paths_of(model)
    domain = Domain.of(schema, paths.literals)
    supports = some_supports(data, count_rows_each(domain.regions(paths), domain.weights))
    if not any(supports) or domain.possible_rows < 2:
        return
    result = hr.audit.reconstruction(model, supports=supports)
    known = ProbabilisticDataset.of(result)
    assert known.n_rows == sum(supports)
    assert known.entropy_bits == pytest.approx(result.entropy_bits, abs=1e-9)
    assert known.uncertainty == pytest.approx(result.uncertainty, abs=1e-12)
    assert [row.possible_rows for row, _ in known.groups] == [
        w for w, n in zip(result.possible_rows, supports, strict=True) if n
    ]
    if not any(len(factor.attributes) > 1 for row in known.rows for factor in row.factors):
        assert known.dist() == pytest.approx(result.dist(), abs=1e-12)
    assert known.is_compatible(known.sample(0))


@given(MODELS, st.data())
def test_rows_drawn_come_to_their_leaves(model, data):
    paths, schema = paths_of(model)
    resolution = {name: 0.01 for name, attribute in schema.attributes if isinstance(attribute, Real)}
    domain = Domain.of(schema, paths.literals, resolution=resolution)
    supports = some_supports(data, count_rows_each(domain.regions(paths), domain.weights))
    if not any(supports) or domain.possible_rows < 2:
        return
    drawn = ProbabilisticDataset.of(model, supports=supports, resolution=resolution).sample(1)
    kept = np.array([Unspecified.OUTSIDE not in row for row in drawn.itertuples(index=False, name=None)])
    if kept.any():
        expected = np.repeat(np.arange(len(supports)), supports)
        assert model.apply(drawn[kept].convert_dtypes()).tolist() == expected[kept].tolist()


def test_a_table_is_drawn_with_the_columns_that_the_learner_reads():
    data = hr.datasets.load("breast_cancer")
    clf = hr.GreedyRuleListClassifier(schema=data.schema, max_rules=4).fit(data.frame, data.labels)
    resolution = dict.fromkeys(data.schema, 0.001)
    known = ProbabilisticDataset.of(clf, resolution=resolution)
    drawn = known.sample(0)
    counts, label = [rule.counts for rule in clf.rule_list_.rules], data.schema.label.name
    assert list(drawn.columns) == [*data.schema.names, label]
    again = Counter(zip(clf.rule_list_.apply(drawn).tolist(), drawn[label], strict=True))
    told = {(j, c): n for j, row in enumerate(counts) for c, n in zip(data.schema.classes, row, strict=True)}
    assert again == {key: n for key, n in told.items() if n}
    result = hr.audit.reconstruction(clf, resolution=resolution)
    assert known.entropy_bits == pytest.approx(result.entropy_bits, rel=1e-12)


SMALL = Schema({"a": Boolean(), "n": Integer(0, 4, cuts=(1, 2)), "c": Categorical(("u", "v", "w"))}, LABEL)
FIRST = (Literal("a", "true"), Literal("n", "<=", (1,)))
SECOND = (Literal("n", "<=", (2,)), Literal("c", "=", ("u",)))
OVERLAPPING = RuleList(SMALL, (Rule(FIRST, (0, 0)), Rule(SECOND, (0, 0)), Rule((), (3000, 5000))), CARD)


def rows_left():
    """Look at every row of the schema for those that neither rule catches: too simple to be wrong."""
    rows = product((False, True), range(5), "uvw")
    return [(a, n, c) for a, n, c in rows if not (a and n <= 1) and not (n <= 2 and c == "u")]


def drawn_value_by_value(rng):
    """Draw 8000 rows, each value alike among those that the values before it leave: not uniform."""
    for _ in range(8000):
        row = ()
        while len(row) < 3:
            left = sorted({other[len(row)] for other in rows_left() if other[: len(row)] == row})
            row += (left[rng.integers(len(left))],)
        yield row


def test_rows_of_overlapping_rules_are_drawn_evenly():
    rows = rows_left()
    drawn = ProbabilisticDataset.of(OVERLAPPING).sample(5)[["a", "n", "c"]]
    counts = Counter(drawn.itertuples(index=False, name=None))
    assert set(counts) == set(rows)
    assert chisquare([counts[row] for row in rows]).pvalue > ALARM
    biased = Counter(drawn_value_by_value(np.random.default_rng(5)))
    assert chisquare([biased[row] for row in rows]).pvalue < ALARM


def test_a_prior_makes_some_rows_likelier():
    prior = {"n": [0.2, 0.3, 0.5], "c": {"u": 0.5, "w": 0.5}}
    known = ProbabilisticDataset.of(OVERLAPPING, prior=prior)
    n_chance = [0.1, 0.1, 0.3, 0.25, 0.25]
    masses = {row: n_chance[row[1]] for row in rows_left() if row[2] != "v"}
    expected = {row: mass / sum(masses.values()) for row, mass in masses.items()}
    assert known.rows[0].entropy_bits == pytest.approx(-sum(p * log2(p) for p in expected.values()))
    result = hr.audit.reconstruction(OVERLAPPING, prior=prior)
    assert known.entropy_bits == pytest.approx(result.entropy_bits, rel=1e-12)
    counts = Counter(known.sample(6)[["a", "n", "c"]].itertuples(index=False, name=None))
    assert set(counts) == set(expected)
    assert chisquare([counts[row] for row in expected], [8000 * p for p in expected.values()]).pvalue > ALARM
    assert chisquare([counts[row] for row in expected]).pvalue < ALARM


@pytest.mark.statistics
def test_rows_as_given_are_drawn_by_their_probabilities():
    rows = [{"a": {0: 0.25, 1: 0.75}, ("b", "c"): {(0, 0): 0.5, (1, 1): 0.25, (1, 0): 0.25}}] * 8000
    known = ProbabilisticDataset({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, rows)
    counts = Counter(known.sample(7).itertuples(index=False, name=None))
    chances = {(a, *bc): p * q for a, p in rows[0]["a"].items() for bc, q in rows[0]["b", "c"].items()}
    assert set(counts) == set(chances)
    assert chisquare([counts[row] for row in chances], [8000 * p for p in chances.values()]).pvalue > ALARM
    assert chisquare([counts[row] for row in chances]).pvalue < ALARM
    assert known.entropy_bits == pytest.approx(8000 * -sum(p * log2(p) for p in chances.values()))


def test_draws_are_repeatable_and_differ():
    known = table_ii()
    assert known.sample(3).equals(known.sample(3))
    assert known.sample(np.random.default_rng(3)).equals(known.sample(3))
    assert not all(known.sample(seed).equals(known.sample(3)) for seed in range(5))


UNEVEN = ProbabilisticDataset(
    {"a": (0, 1, 2), "b": "xy"},
    [
        {"a": {0: 0.5, 2: 0.5}},
        {("b", "a"): {("x", 0): 0.125, ("y", 1): 0.875}},
        {"a": 1, "b": {"x": 0.9, "y": 0.1}},
    ],
)


@pytest.mark.parametrize("known", [ProbabilisticDataset.of(RULE_LIST_1), UNEVEN])
def test_definition_4_over_all_worlds_is_the_decomposed_formula(known):
    everything = worlds(known)
    assert len(everything) == prod(row.possible_rows for row in known.rows)
    assert entropy(everything) == pytest.approx(known.entropy_bits, abs=1e-12)
    most = known.n_rows * sum(log2(values.count) for values in known.domains)
    assert entropy(everything) / most == pytest.approx(known.uncertainty, abs=1e-12)
    names = [values.name for values in known.domains]
    assert tuple(known.sample(0)[names].itertuples(index=False, name=None)) in everything
    for world in list(everything)[:: len(everything) // 3]:
        assert known.is_compatible(pd.DataFrame(world, columns=names))


def test_worlds_have_the_probabilities_of_their_rows():
    chances = worlds(UNEVEN)
    assert float(chances[(0, "x"), (1, "y"), (1, "y")]) == pytest.approx(0.25 * 0.875 * 0.1)
    assert sum(chances.values()) == 1


def test_possible_rows_match_the_values_of_the_schema():
    schema = Schema({"n": Integer(0, 9, cuts=(7,), missing="bin", missing_values=(9,)), "b": Boolean()}, LABEL)
    model = Tree(schema, Split(Literal("n", "<=", (7,)), Leaf((0, 0)), Leaf((2, 0))), CARD)
    known = ProbabilisticDataset.of(model)
    rows = list(product([8, Unspecified.MISSING], [False, True]))
    assert set(worlds(known)) == set(product(rows, rows))
    assert known.is_compatible(pd.DataFrame({"n": [8, None], "b": [True, False]}))


def test_a_known_table_is_deterministic():
    known = ProbabilisticDataset(BITS, [{"a1": 0, "a2": 1, "a3": 1}, {("a1", "a2", "a3"): (1, 1, 0)}])
    assert known.uncertainty == known.entropy_bits == 0
    assert len(worlds(known)) == 1
    assert table_ii().uncertainty > 0
    assert known.sample(0).to_numpy().tolist() == [[0, 1, 1], [1, 1, 0]]


def test_nothing_known_leaves_all():
    known = ProbabilisticDataset(BITS, [{}, {}])
    assert known.dist() == known.uncertainty == 1
    assert known.entropy_bits == 6


def test_attributes_of_one_value_are_left_out_of_the_average():
    assert ProbabilisticDataset({"a": (0, 1), "fixed": (3,)}, [{"a": 1}, {}]).dist() == 0.5
    only = ProbabilisticDataset({"fixed": (3,)}, [{}])
    for share in (only.dist, lambda: only.uncertainty):
        with pytest.raises(ValueError, match="domains"):
            share()


def test_labels_are_known_only_if_all_are():
    told = (Rule((A1,), (1, 2)), Rule((), (0, 1)))
    assert ProbabilisticDataset.of(RuleList(LIST_SCHEMA, told, CARD)).labels == (0, 1, 1, 1)
    noisy = RuleList(LIST_SCHEMA, (Rule((A1,), (-1, 3)), Rule((), (0, 1))), NOISY)
    assert ProbabilisticDataset.of(noisy).labels is None
    assert ProbabilisticDataset.of(noisy).n_rows == 3
    other = ProbabilisticDataset.of(RuleList(LIST_SCHEMA, told, CARD), supports=(2, 2))
    assert other.labels is None
    assert "y" not in other.sample(0)
    drawn = RuleList(LIST_SCHEMA, (Rule((A1,), label=1), Rule((), label=0)), CARD)
    assert ProbabilisticDataset.of(drawn, supports=(2, 2)).labels is None


def test_several_models_are_read_together():
    item = RuleList(LIST_SCHEMA, (Rule((A1,), (1, 3)), Rule((), (1, 0))), CARD)
    result = hr.audit.joint_reconstruction([item, RULE_LIST_1], TABLE_III[list(BITS)])
    known = ProbabilisticDataset.of(result)
    assert known.entropy_bits == pytest.approx(result.entropy_bits)
    assert known.labels is None


def test_long_sets_are_shortened_and_like_rows_share_a_line():
    schema = Schema({"age": Integer(17, 90, cuts=(30,)), "sex": Categorical(("F", "M"))}, LABEL)
    age, sex = Literal("age", "<=", (30,)), Literal("sex", "=", ("F",))
    model = RuleList(schema, (Rule((sex, age), (7, 0)), Rule((), (20, 1))), CARD)
    either = "(age, sex) ∈ {(17, M), (18, M), …} (134 values)"
    lines = [squeezed(line).split("  ") for line in str(ProbabilisticDataset.of(model)).splitlines()]
    assert lines[1:] == [
        ["x1 to x7 (7 rows)", "{17, 18, …, 30} (14 values)", "F", "0"],
        ["x8 to x27 (20 rows)", either, "see age", "0"],
        ["x28", either, "see age", "1"],
    ]


def test_unconstrained_attributes_are_named_below_a_wide_table():
    domains = {f"attribute {i}": range(1000) for i in range(12)}
    lines = str(ProbabilisticDataset(domains, [{"attribute 3": 5}, {}])).splitlines()
    assert squeezed(lines[0]) == "row  attribute 3"
    assert lines[-1].startswith("Unconstrained: attribute 0, attribute 1, attribute 2, attribute 4,")


def test_probabilities_and_intervals_are_printed():
    ninths = dict.fromkeys(range(9), 1 / 9)
    known = ProbabilisticDataset({"a": range(9), "b": "xy"}, [{"a": ninths, "b": {"x": 0.9, "y": 0.1}}])
    assert squeezed(str(known).splitlines()[1]) == "x1  {0, 1, …, 8} (9 values)  {x: 0.9, y: 0.1}"
    schema = Schema({"r": Real(0, 10, cuts=(2.5, 4), missing="bin")}, LABEL)
    model = RuleList(schema, (Rule((Literal("r", "<=", (2.5,)),), (1, 0)), Rule((), (0, 1))), CARD)
    assert [squeezed(line) for line in str(ProbabilisticDataset.of(model)).splitlines()[1:]] == [
        "x1  [0, 2.5]  0",
        "x2  {(2.5, 4], (4, 10], missing}  1",
    ]


def test_html_shows_the_same_and_escapes_it():
    html = ProbabilisticDataset({"<b>": ("<i>", "&")}, [{"<b>": "<i>"}, {}])._repr_html_()
    assert "<th>&lt;b&gt;</th>" in html
    assert "<td>&lt;i&gt;</td>" in html
    assert "<td>{&lt;i&gt;, &amp;}</td>" in html


def test_long_tables_are_cut():
    many = ProbabilisticDataset(BITS, [{"a1": i % 2} for i in range(300)])
    assert many._repr_html_().count("<tr>") == 201
    assert "… and further rows." in many._repr_html_()
    assert len(str(many).splitlines()) == 202


def test_the_repr_has_the_entropy():
    assert repr(table_ii()) == "<ProbabilisticDataset: 4 rows of a1, a2, a3; 14.6 bits>"
    assert "of a0, a1, a2, a3, …;" in repr(ProbabilisticDataset({f"a{i}": (0, 1) for i in range(5)}, [{}]))


NAN = float("nan")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"b": 1}, r"'b'.* a1, a2, a3"),
        ({"a1": 2}, r"'a1'.* domain"),
        ({"a1": NAN}, r"'a1'.* domain"),
        ({"a1": {0, 2}}, r"'a1'.* domain"),
        ({"a1": (0, 1)}, r"'a1'.* domain"),
        ({"a1": set()}, "at least one"),
        ({"a1": [0, 0]}, "duplicate"),
        ({"a1": {0: 0.5, 1: 0.4}}, "probabilities"),
        ({"a1": {0: 1.5, 1: -0.5}}, "probabilities"),
        ({"a1": {0: NAN, 1: 1}}, "probabilities"),
        ({"a1": {0: "half", 1: 0.5}}, "probabilities"),
        ({"a1": 1, ("a1", "a2"): (0, 0)}, r"'a1'.* a2, a3"),
        ({("a1", "a1"): (0, 0)}, "each attribute"),
        ({(): ()}, "each attribute"),
        ({("a1", "a2"): {(0, 0, 0)}}, r"'a1, a2'.* 2 values"),
        ({("a1", "a2"): {0, 1}}, "2 values"),
    ],
)
def test_bad_rows_are_refused(row, message):
    with pytest.raises(SchemaError, match=message):
        ProbabilisticDataset(BITS, [row])


def test_values_of_no_probability_are_impossible():
    known = ProbabilisticDataset(BITS, [{"a1": {0: 1.0, 1: 0}}])
    assert known.rows[0].possible_rows == 4
    assert not known.is_compatible(pd.DataFrame({"a1": [1], "a2": [0], "a3": [0]}))


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="row"):
        ProbabilisticDataset(BITS, [])
    with pytest.raises(ValueError, match="label"):
        ProbabilisticDataset(BITS, [{}], (0, 1))
    with pytest.raises(ValueError, match="name"):
        ProbabilisticDataset(BITS, [{}], (0,), label="a1")
    with pytest.raises(ValueError, match="4 rows"):
        table_ii().is_compatible(TABLE_I[:3])
    with pytest.raises(DomainError, match="column"):
        table_ii().is_compatible(TABLE_I[["a1", "a2"]])
    with pytest.raises(DomainError, match="3 columns"):
        table_ii().is_compatible(TABLE_I.to_numpy())
    with pytest.raises(DomainError, match="domain"):
        table_ii().is_compatible(TABLE_I.assign(a1=99))


def test_bad_models_are_refused():
    with pytest.raises(ValueError, match="independent"):
        ProbabilisticDataset.of(hr.audit.reconstruction(RULE_LIST_1, independent_bits=True))
    with pytest.raises(ValueError, match="prior"):
        ProbabilisticDataset.of(hr.audit.reconstruction(RULE_LIST_1, prior={"a1": [0.5, 0.5]}))
    with pytest.raises(ValueError, match="prior"):
        ProbabilisticDataset.of(hr.audit.reconstruction(RULE_LIST_1), supports=(2, 2, 1))
    with pytest.raises(TypeError, match="int"):
        ProbabilisticDataset.of(3, LIST_SCHEMA)
