from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Literal, Schema, candidates, count_candidates
from hedgerow.schema.schema import FROM_ROWS
from tests.schema.values import attributes

schemas = st.lists(attributes, min_size=1, max_size=3).map(
    lambda kinds: Schema({f"x{i}": kind for i, kind in enumerate(kinds)})
)
small = st.lists(
    st.sampled_from(
        [
            Boolean(),
            Boolean(missing="bin"),
            Categorical(("a", "b", "c")),
            Categorical(("a", "b"), outside="bin"),
            Integer(0, 9, (3, 5)),
            Integer(0, 9, ()),
        ]
    ),
    min_size=1,
    max_size=3,
).map(lambda kinds: Schema({f"x{i}": kind for i, kind in enumerate(kinds)}))
MIXED = Schema({"a": Boolean(), "b": Integer(0, 9, (3, 5)), "c": Categorical(("u", "v", "w"))})


def enumerate_antecedents(schema, max_literals, *, negations):  # reference: choose attributes, then a literal of each
    literals = {name: schema[name].literals(name, negations=negations) for name in schema}
    return [
        antecedent
        for size in range(1, max_literals + 1)
        for names in combinations(schema, size)
        for antecedent in product(*(literals[name] for name in names))
    ]


@given(schemas, st.integers(1, 4), st.booleans())
def test_candidates_are_all_conjunctions_over_different_attributes(schema, max_literals, negations):
    expected = enumerate_antecedents(schema, max_literals, negations=negations)
    assert count_candidates(schema, max_literals, negations=negations) == len(expected)
    if expected:
        result = list(Candidates.of(schema, max_literals, negations=negations))
        assert len(result) == len(expected)
        assert set(result) == set(expected)
        assert [len(antecedent) for antecedent in result] == sorted(len(antecedent) for antecedent in result)


def test_more_literals_than_attributes_are_as_many_as_attributes():
    assert count_candidates(MIXED, 10**18) == count_candidates(MIXED, len(MIXED))


@pytest.mark.parametrize("index", [-1, count_candidates(MIXED, 2)])
def test_an_index_beyond_the_candidates_is_an_error(index):
    with pytest.raises(IndexError, match=str(index)):
        Candidates.of(MIXED, 2)[index]


@given(small, st.integers(1, 3), st.booleans(), st.data())
def test_implications_of_candidates_match_all_combinations_of_bins(schema, size, negations, data):
    if not count_candidates(schema, 1, negations=negations):
        return
    result = Candidates.of(schema, size, negations=negations)
    worlds = [dict(zip(schema, bins, strict=True)) for bins in product(*(range(len(schema[n].bins)) for n in schema))]
    catches = np.array(
        [[all(schema[x.attribute].truth(x)[world[x.attribute]] for x in rule) for world in worlds] for rule in result]
    )
    index = data.draw(st.integers(0, len(result) - 1))
    assert result.implying(index).tolist() == [not (row & ~catches[index]).any() for row in catches]


@given(schemas)
def test_truth_has_each_attributes_bins_side_by_side(schema):
    if not count_candidates(schema, 1):
        return
    result = Candidates.of(schema, 1)
    for literal, row in zip(result.literals, result.truth, strict=True):
        bins = iter(row)
        for name in schema:
            own = [next(bins) for _ in schema[name].bins]
            assert own == (list(schema[name].truth(literal)) if name == literal.attribute else [False] * len(own))
        assert not list(bins)


def test_too_many_candidates_are_an_error_before_any_is_built(monkeypatch):
    monkeypatch.setattr(candidates, "_extend", lambda *_: pytest.fail("built"))
    schema = Schema({f"x{i}": Boolean() for i in range(500)})
    with pytest.raises(SchemaError, match=r"166,168,000 candidate rules .*5,000,000"):
        Candidates.of(schema, 3)


def test_a_schema_without_literals_has_no_candidates():
    with pytest.raises(SchemaError, match=r"no literal, .*remove `cuts: "):
        Candidates.of(Schema({"n": Integer(0, 9, ())}), 2)


@pytest.mark.parametrize("max_literals", [0, -1, 1.5, True, "2", None])
def test_max_literals_is_a_positive_whole_number(max_literals):
    with pytest.raises(ValueError, match="max_literals must be a whole number >= 1"):
        Candidates.of(MIXED, max_literals)


def test_conjunctions_are_no_longer_than_the_attributes_allow():
    schema = Schema({"a": Boolean(), "n": Integer(0, 9, ()), "b": Boolean()})
    assert [part.shape for part in Candidates.of(schema, 9).members] == [(4, 1), (4, 2)]


def test_negations_are_dropped_on_request():
    assert {x.operator for x in Candidates.of(MIXED, 1, negations=False).literals} == {
        "true",
        "=",
        "<=",
        ">",
        "between",
    }


def test_equal_schemas_give_equal_candidates_whatever_table_they_meet():
    again = Schema.from_dict(MIXED.to_dict())
    assert list(Candidates.of(MIXED, 2)) == list(Candidates.of(again, np.int64(2)))


@given(small, st.integers(1, 3), st.booleans())
def test_implications_are_those_of_all_combinations_of_bins(schema, size, negations):
    if not count_candidates(schema, 1, negations=negations):
        return
    result = Candidates.of(schema, size, negations=negations)
    worlds = [dict(zip(schema, bins, strict=True)) for bins in product(*(range(len(schema[n].bins)) for n in schema))]
    catches = np.array(
        [[all(schema[x.attribute].truth(x)[world[x.attribute]] for x in rule) for world in worlds] for rule in result]
    )
    expected = [[not (catch & ~other).any() for other in catches] for catch in catches]
    assert result.implications.tolist() == expected
    assert result.implications.diagonal().all()
    for index in range(len(result)):
        assert result.implications[:, index].tolist() == result.implying(index).tolist()


def test_only_the_literals_of_one_attribute_are_created_for_a_candidate(monkeypatch):
    schema = Schema({"a": Integer(0, 99, range(99)), "b": Integer(0, 99, range(99)), "c": Boolean()})
    result, created, init = Candidates.of(schema, 2), list[str](), Literal.__post_init__
    monkeypatch.setattr(Literal, "__post_init__", lambda self: (init(self), created.append(self.attribute)))
    assert result.truth.shape == result.own_bins.shape
    assert str(*result[100]) == "a > 1"
    assert set(created) <= {"", "a", "c"}
    assert list(map(str, result[-1 + len(result)])) == ["b > 98", "not c"]
    assert result.literals == tuple(literal for (literal,) in list(result)[: len(result.literals)])


@given(schemas)
def test_the_own_bins_of_a_literal_are_those_of_its_attribute(schema):
    if not count_candidates(schema, 1):
        return
    result = Candidates.of(schema, 1)
    for literal, row in zip(result.literals, result.own_bins, strict=True):
        bins = iter(row)
        for name in schema:
            assert [next(bins) for _ in schema[name].bins] == [name == literal.attribute] * len(schema[name].bins)
        assert not list(bins)


@pytest.mark.parametrize("no_guarantee_reason", [FROM_ROWS, (FROM_ROWS, Fact("seeded"))])
@pytest.mark.parametrize("negations", [True, False])
def test_no_candidate_is_about_a_bin_that_no_row_of_the_domain_is_in(no_guarantee_reason, negations):
    words = {"sex": Categorical(("F", "M"), outside="bin"), "hue": Categorical(("r", "g", "b"), outside="bin")}
    declared = {"sex": Categorical(("F", "M")), "hue": Categorical(("r", "g", "b"))}
    taken, without = Schema(words, no_guarantee=no_guarantee_reason), Schema(declared)
    result = Candidates.of(taken, 2, negations=negations)
    assert result.literals == Candidates.of(without, 2, negations=negations).literals
    assert len(result) == count_candidates(taken, 2, negations=negations) == len(list(result))
    assert result.truth.shape == (len(result.literals), 7)
    kept = Candidates.of(Schema(words, no_guarantee="seeded"), 1, negations=negations)
    assert {"outside"} <= {literal.operator for literal in kept.literals}


def test_forms_of_a_schema_are_its_attributes_with_like_literals():
    schema = Schema({"a": Boolean(), "b": Categorical(("x", "y", "z")), "c": Boolean(), "d": Boolean(missing="bin")})
    forms = [attribute.form for _, attribute in schema.attributes]
    assert {form: times for form, (_, times) in schema.forms.items()} == Counter(forms)
    assert [attribute for attribute, _ in schema.forms.values()] == [schema["a"], schema["b"], schema["d"]]
