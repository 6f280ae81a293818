import pytest
from hypothesis import given

from hedgerow.errors import SchemaError
from hedgerow.models.conditions import Pieces, check_literals, complement, conditions
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from hedgerow.schema.attributes import Attribute
from tests.models.strategies import attributes
from tests.schema import enumerate_literals
from tests.schema.values import attributes as schema_attributes

YOUNG = Literal("x", "<=", (30,))


@pytest.mark.parametrize(
    ("attribute", "literal", "words"),
    [
        (Integer(0, 90, cuts=(30, 60)), YOUNG, "x > 30"),
        (Integer(0, 90, cuts=(30, 60)), Literal("x", ">", (30,)), "x <= 30"),
        (Integer(0, 90, cuts=(30, 60)), Literal("x", "between", (30, 60)), "not (30 < x <= 60)"),
        (Integer(0, 90, cuts=(30, 60), missing="bin"), YOUNG, "x > 30 or missing"),
        (Integer(0, 90, cuts=(30, 60), missing="bin"), Literal("x", "missing"), "x is not missing"),
        (Integer(0, 90, cuts=(30, 60), outside="bin"), YOUNG, "not (x <= 30)"),
        (Boolean(), Literal("x", "true"), "not x"),
        (Boolean(), Literal("x", "false"), "x"),
        (Boolean(missing="bin"), Literal("x", "true"), "not x or missing"),
        (Categorical(("a", "b", "c")), Literal("x", "=", ("a",)), "x != a"),
        (Categorical(("a", "b", "c")), Literal("x", "!=", ("a",)), "x = a"),
        (Categorical(("a", "b")), Literal("x", "=", ("a",)), "x = b"),
        (Categorical(("a", "b"), missing="bin"), Literal("x", "=", ("a",)), "x = b or missing"),
        (Categorical(("a", "b"), outside="bin"), Literal("x", "=", ("a",)), "x != a"),
    ],
)
def test_the_words_of_a_failing_literal_by_hand(attribute: Attribute, literal: Literal, words: str) -> None:
    paths = [((literal, False),), ((literal, True),)]
    assert [*conditions(paths, Schema({"x": attribute}), "always")] == [words, str(literal)]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([("<= 30", False), ("<= 60", True)], "30 < x <= 60"),
        ([("<= 60", True), ("<= 30", False), ("y", True)], "30 < x <= 60 and y"),
        ([("<= 60", False), ("<= 30", False)], "x > 60 or missing"),
        ([("y", False), ("<= 60", False)], "(not y or missing) and (x > 60 or missing)"),
        ([("missing", False), ("<= 60", False)], "x > 60"),
        ([("<= 60", False), ("> 60", False)], "x is missing"),
        ([("<= 30", True), ("> 60", True)], "x <= 30 and x > 60"),
        ([], "always"),
    ],
)
def test_the_tests_of_an_attribute_on_a_path_are_one_condition(steps: list[tuple[str, bool]], words: str) -> None:
    schema = Schema({"x": Integer(0, 90, cuts=(30, 60), missing="bin"), "y": Boolean(missing="bin")})
    literals = {"<= 30": YOUNG, "missing": Literal("x", "missing"), "y": Literal("y", "true")}
    literals |= {"<= 60": Literal("x", "<=", (60,)), "> 60": Literal("x", ">", (60,))}
    assert [*conditions([tuple((literals[name], holds) for name, holds in steps)], schema, "always")] == [words]


@given(attribute=attributes() | schema_attributes)
def test_a_complement_is_that_found_by_enumeration(attribute: Attribute) -> None:
    for literal in attribute.literals("x", negations=True):
        assert complement(literal, attribute) == enumerate_literals.complement(literal, attribute)


def test_texts_of_parts_are_cached_and_bounded_in_total() -> None:
    made: list[str] = []
    pieces = Pieces[str](lambda part: made.append(part) or part * 2**20, "SQL")
    assert [len(pieces("a")) for _ in range(8)] == [2**20] * 8
    with pytest.raises(ValueError, match="more than 8,388,608 characters as SQL"):
        pieces("b")
    assert made == ["a", "b"]


def test_literals_must_fit_the_schema() -> None:
    schema = Schema({"x": Integer(0, 90, cuts=(30,))}, Label("y", (0, 1)))
    check_literals([YOUNG], schema, "a split")
    with pytest.raises(SchemaError, match=r"^attribute 'z': .*not declared"):
        check_literals([YOUNG, Literal("z", "true")], schema, "a split")
    with pytest.raises(SchemaError, match=r"literals must compare with the cut points \[30\]"):
        check_literals([Literal("x", "<=", (31,))], schema, "a split")
