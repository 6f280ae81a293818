"""Values quoted in messages, and whose errors they are."""

import ast
import builtins
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow
from hedgerow import errors
from hedgerow.text.messages import capitalised, near_miss, shown

SOURCE = Path(hedgerow.__file__).parent
PROTOCOLS = {"AttributeError", "IndexError", "NotImplementedError"}  # of a module, a sequence, a base class
INTERNAL = {  # their callers catch them, or check the argument first
    "tables/objects.py": {"OverflowError"},
    "cli/rows.py": {"ModuleNotFoundError"},
    "text/language.py": {"ValueError"},
}


def raised(path):
    """Return the names of the built-in exceptions that a module raises."""
    nodes = [node.exc for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {node.id for node in calls if isinstance(node, ast.Name)}
    return {name for name in names if isinstance(getattr(builtins, name, None), type)}


def test_every_exception_is_one_of_hedgerows():
    result = {str(path.relative_to(SOURCE)): raised(path) - PROTOCOLS for path in SOURCE.rglob("*.py")}
    assert {path: names for path, names in result.items() if names} == INTERNAL


def test_each_exception_is_one_of_pythons_too():
    result = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    ours = [kind for kind in result if kind is not errors.HedgerowError and not issubclass(kind, Warning)]
    assert len(ours) > 15
    for kind in ours:
        assert issubclass(kind, errors.HedgerowError)
        assert issubclass(kind, (ValueError, TypeError, OSError, RuntimeError, ImportError, OverflowError))


def test_shown_values_are_short_and_of_plain_types_only():
    assert shown("x" * 10**6) == f"{'x' * 60!r}…"
    assert shown({"a": [1, 2], 3: None}) == "{'a': [1, 2], 3: None}"
    assert shown((True, 0.5, Fraction(1, 3))) == "(True, 0.5, Fraction(1, 3))"
    assert shown([[[[1]]]]) == "[[<list>]]"
    assert shown(1 << 10**6) == "a whole number of 1000001 bits"
    assert shown(pd.DataFrame({"name": ["secret"]})) == "<DataFrame>"
    assert shown([np.array(["secret"])]) == "[<ndarray>]"
    bomb = ["secret"]
    for _ in range(60):
        bomb = [bomb] * 9
    assert len(shown(bomb)) < 400


@pytest.mark.parametrize(
    ("word", "words", "found"),
    [
        ("age", ["sex", "Age", "AGE"], "Age"),
        ("date_of_birth", ["DateOfBirth", "date"], "DateOfBirth"),
        ("mising", ["missing", "missing_values"], "missing"),
        ("age", ["dose"], None),
        (7, ["7"], None),
        ("x" * 61, ["x" * 61], None),
        ("age", ["age" * 30], None),
    ],
)
def test_a_near_miss_is_asked_about(word, words, found):
    assert near_miss(word, words) == ("" if found is None else f" Did you mean '{found}'?")


@pytest.mark.parametrize(("text", "sentence"), [("the AUC of X", "The AUC of X"), ("", ""), ("é", "É")])
def test_only_the_first_letter_is_capitalised(text, sentence):
    assert capitalised(text) == sentence
