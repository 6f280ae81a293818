"""The names that hedgerow exports, and that they are imported when they are used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

SOURCE = ast.parse(Path(hedgerow.__file__).read_text("utf-8"))


def typed():
    """Return the names that a type checker sees, with their modules."""
    (checked,) = (node for node in SOURCE.body if isinstance(node, ast.If))
    return {
        alias.name: node.module for node in checked.body for alias in node.names if isinstance(node, ast.ImportFrom)
    }


@pytest.mark.parametrize("name", [name for name in hedgerow.__all__ if name != "__version__"])
def test_a_name_has_the_type_that_a_type_checker_infers(name):
    module = typed()[name]
    expected = sys.modules[f"hedgerow.{name}"] if module == "hedgerow" and getattr(hedgerow, name) else None
    if expected is None:
        expected = getattr(__import__(module, fromlist=[name]), name)
    assert getattr(hedgerow, name) is expected
    assert name in dir(hedgerow)


def test_the_same_names_are_typed_and_exported():
    assert sorted(typed()) == sorted({*hedgerow.__all__} - {"__version__"})


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hedgerow' has no attribute 'Nothing'"):
        _ = hedgerow.Nothing
    with pytest.raises(AttributeError, match=r"'hedgerow\.engines' .*'nothing'"):
        _ = hedgerow.engines.nothing


def test_importing_hedgerow_imports_no_heavy_library():
    libraries = {"numpy", "pandas", "sklearn", "scipy", "ibis", "opendp"}
    code = f"import sys, hedgerow; print(sorted({libraries} & {{*sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def public_objects():
    """Yield what the faces export, with its public methods and properties, and what each is called."""
    faces = [hedgerow, *(getattr(hedgerow, name) for name in ("models", "schema", "privacy", "audit", "engines"))]
    for face in faces:
        for name in face.__all__:
            result = getattr(face, name)
            if inspect.isroutine(result) or inspect.isclass(result):
                yield name, result
            if inspect.isclass(result) and result.__module__.startswith("hedgerow"):
                yield from (
                    (f"{name}.{member}", getattr(result, member))
                    for member in vars(result)
                    if not member.startswith("_")
                    and (isinstance(vars(result)[member], property) or callable(vars(result)[member]))
                )


def test_public_names_have_a_docstring():
    result = dict(public_objects())
    assert len(result) > 500
    assert [name for name, thing in result.items() if not inspect.getdoc(thing)] == []
