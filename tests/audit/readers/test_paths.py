import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Ordered, Real, Schema
from tests.models.strategies import cases, rule_lists, trees

AGE = Literal("age", "<=", (30,))
SCHEMA = Schema({"age": Integer(0, 99, cuts=(30,)), "sex": Categorical(("F", "M")), "smoker": Boolean()})


@given(cases(rule_lists() | trees()))
def test_rows_have_the_leaf_of_the_model(case):
    paths, schema = paths_of(case.model)
    for table in (case.pandas(), case.polars(), case.arrow()):
        assert (paths.apply(table, schema) == case.model.apply(table)).all()


@given(trees() | rule_lists())
def test_conditions_equal_the_models_own_without_repeated_attributes(model):
    paths, schema = paths_of(model)
    for path, own, result in zip(paths.paths, model.conditions, paths.conditions(schema), strict=True):
        if path and len({literal.attribute for literal, _ in path}) == len(path):
            assert result == own


WORDS = ("a", "b, c", "d", "e", "f")
KINDS = {
    "plain": Categorical(WORDS),
    "missing": Categorical(WORDS, missing="bin"),
    "outside": Categorical(WORDS, missing="bin", outside="bin"),
    "number": Real(0, 10, cuts=(1.5, 2.5, 4, 7)),
    "number with gaps": Real(0, 10, cuts=(1.5, 2.5, 4, 7), missing="bin"),
    "order": Ordered(WORDS, missing="bin"),
    "bit": Boolean(missing="bin"),
}


def holds(text, attribute, place):
    """Return whether a condition on x in words holds in a bin, read word by word; the slow obvious version."""
    if " and " in text:
        return all(holds(part, attribute, place) for part in text.split(" and "))
    if text.endswith(" or missing"):
        is_missing = place == attribute.n_known and attribute.missing == "bin"
        return is_missing or holds(text.removesuffix(" or missing"), attribute, place)
    if text.startswith("not ("):
        return not holds(text[5:-1], attribute, place)
    if "{" in text:
        bins = attribute.bins if place >= attribute.n_known else attribute.listed
        named = [word.strip('"') for word in re.findall('"[^"]*"|[^ ,]+', text[text.index("{") + 1 : -1])]
        inside = bins[place] in named and place < attribute.n_known
        is_missing = place == attribute.n_known and attribute.missing == "bin"
        return not inside and not is_missing if " not in {" in text else inside
    literals = attribute.literals("x", negations=True)
    return bool(attribute.truth(next(literal for literal in literals if str(literal) == text))[place])


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_a_path_has_a_single_condition_for_each_attribute(kind, data):
    attribute = KINDS[kind]
    literals = st.sampled_from(attribute.literals("x", negations=True))
    path = tuple(data.draw(st.lists(st.tuples(literals, st.booleans()), min_size=1, max_size=6)))
    (text,) = Paths((path,)).conditions(Schema({"x": attribute}))
    for place in range(attribute.n_bins):
        expected = all(attribute.truth(literal)[place] == is_so for literal, is_so in path)
        assert (text == "always" or holds(text, attribute, place)) == expected, (text, place)


def test_conditions_are_merged():
    def text(kind, *path):
        return Paths((tuple((Literal("x", *step), is_so) for step, is_so in path), ())).conditions(Schema({"x": kind}))[
            0
        ]

    excluded = [(("=", (word,)), False) for word in WORDS[:2]]
    assert text(KINDS["plain"], *excluded) == 'x not in {a, "b, c"}'
    assert text(KINDS["missing"], *excluded) == 'x not in {a, "b, c"} or missing'
    assert text(KINDS["plain"], *excluded, (("=", ("d",)), False)) == "x in {e, f}"
    assert text(KINDS["number"], (("<=", (7,)), True), (("<=", (2.5,)), False), (("<=", (4,)), True)) == "2.5 < x <= 4"


def test_float32_thresholds_are_shown_in_their_shortest_form():
    X = np.array([[0.39], [0.4]])
    tree = DecisionTreeClassifier().fit(X, [0, 1])
    paths, schema = paths_of(tree, Schema({"x": Real(0, 1, cuts=())}))
    domain = Domain.of(schema, paths.literals)
    assert paths.conditions(domain.schema) == ("x <= 0.395", "x > 0.395")
    assert paths.predictions == (0, 1)
    near = np.float32(0.395) + np.spacing(np.float32(0.395)) * np.arange(-50, 50, dtype=np.float32)
    assert (tree.apply(near.reshape(-1, 1)) == np.where(near.astype(float) <= 0.395, 1, 2)).all()
    declared = Paths((((Literal("x", "<=", (0.123456789012,)), True),), ()))
    assert declared.conditions(Schema({"x": Real(0, 1, cuts=(0.123456789012,))}))[0] == "x <= 0.123456789012"


def test_the_first_path_that_holds_decides():
    paths = Paths((((AGE, True),), ((Literal("sex", "=", ("F",)), True), (AGE, False)), ()))
    frame = pd.DataFrame({"age": [20, 40, 40], "sex": ["F", "F", "M"], "smoker": [0, 0, 1]})
    assert paths.apply(frame, SCHEMA).tolist() == [0, 1, 2]
    assert paths.conditions(SCHEMA) == ("age <= 30", "sex = F and age > 30", "otherwise")


def test_rows_are_arrays_too():
    paths = Paths((((Literal("smoker", "true"), True),), ()))
    assert paths.apply(np.array([[20, 0, 1], [20, 0, 0]]), SCHEMA).tolist() == [0, 1]


def test_bad_rows_and_paths_are_refused():
    paths = Paths((((AGE, True),),))
    with pytest.raises(ValueError, match="leaf"):
        paths.apply(pd.DataFrame({"age": [20, 40]}), SCHEMA)
    with pytest.raises(DomainError, match=r"'age'.* missing"):
        paths.apply(pd.DataFrame({"age": [20, None]}), SCHEMA)
    with pytest.raises(DomainError, match="column 'age'"):
        paths.apply(pd.DataFrame({"sex": ["F"]}), SCHEMA)
    with pytest.raises(ValueError, match="leaf"):
        Paths(())
    with pytest.raises(ValueError, match="2 leaves"):
        Paths(((), ()), (3,))
    with pytest.raises(ValueError, match="counts"):
        Paths(((),), None, ((1, 2), (3, 4)))


def test_the_protocol_is_two_names():
    class Own:
        supports = (1, 2)

        def regions(self):
            return [[AGE], []]

    paths, schema = paths_of(Own(), SCHEMA)
    assert isinstance(Own(), HasRegions)
    assert paths == Paths((((AGE, True),), ()), (1, 2))
    assert schema is SCHEMA
    with pytest.raises(ValueError, match="schema"):
        paths_of(Own())


def test_each_leaf_has_the_prediction_of_the_model():
    rng = np.random.default_rng(0)
    X, labels, numbers = rng.random((200, 2)), rng.choice(["c", "a", "b"], 200), rng.random(200)
    schema = Schema({name: Real(0, 1, cuts=()) for name in "xy"})
    for model, target in (
        (DecisionTreeClassifier(max_depth=3, class_weight="balanced"), labels),
        (DecisionTreeRegressor(max_depth=3), numbers),
    ):
        paths, read = paths_of(model.fit(X, target), schema)
        places = paths.apply(pd.DataFrame(X, columns=["x", "y"]), Domain.of(read, paths.literals).schema)
        assert [paths.predictions[place] for place in places] == model.predict(X).tolist()
    both = DecisionTreeRegressor(max_depth=1).fit(X, np.stack([numbers, numbers], axis=1))
    assert paths_of(both, schema)[0].predictions is None
