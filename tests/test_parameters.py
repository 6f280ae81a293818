"""Every parameter of a public name is documented once, with its default."""

import ast
import inspect
import re
from dataclasses import is_dataclass

import pytest

import hedgerow as hr

PUBLIC = {
    **{name: getattr(hr, name) for name in hr.__all__},
    **{f"audit.{name}": getattr(hr.audit, name) for name in hr.audit.__all__},
}
CALLED = {
    name: one
    for name, one in PUBLIC.items()
    if inspect.isfunction(one)
    or (inspect.isclass(one) and (hasattr(one, "fit") or hasattr(one, "scores") or not is_dataclass(one)))
}
"""Functions, estimators and classes that are made by hand; of results, the fields are described."""


def documented(one):
    """Return the parameters that a docstring describes, with the text after each name's colon."""
    text = inspect.getdoc(one) or ""
    section = re.search(r"(?:^|\n)(?:Parameters|Attributes)\n-+\n(.*?)(?:\n\n(?=[A-Z][a-z]+\n-)|$)", text, re.DOTALL)
    lines = re.findall(r"^(\w+(?:, \w+)*)(?: : (.*))?$", section[1], re.MULTILINE) if section else []
    return [(name, kind) for names, kind in lines for name in names.split(", ")]


def parameters(one):
    result = inspect.signature(one).parameters.values()
    return {each.name: each.default for each in result if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}


@pytest.mark.parametrize("name", CALLED)
def test_every_parameter_is_documented_once_with_its_default(name):
    told, expected = documented(CALLED[name]), parameters(CALLED[name])
    assert sorted(item for item, _ in told if item in expected) == sorted(expected)
    assert "%(" not in (inspect.getdoc(CALLED[name]) or "")
    for item, kind in told:
        written = re.fullmatch(r".*default=(\S+)", kind)
        if item in expected and written and [kind for _, kind in told].count(kind) == 1:  # of one parameter alone
            assert ast.literal_eval(written[1]) == expected[item]
