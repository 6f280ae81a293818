"""The documentation site: every public name has a page of the reference, and the site builds without a warning."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.docs.page import ROOT

REFERENCE = ROOT / "docs" / "reference"
ROOMS = (
    "audit",
    "datasets",
    "engines",
    "errors",
    "learn",
    "marginals",
    "models",
    "privacy",
    "report",
    "schema",
    "oracle",
    "client",
    "planning",
)
MODULES = ("hedgerow", *(f"hedgerow.{room}" for room in ROOMS))
LIST = re.compile(r"\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n(?:   :.*\n)+\n((?:   \w+\n)+)")


def listed() -> list[str]:
    """Return the names that the pages of the reference list, each of which has a page of its own."""
    return [
        f"{module}.{name}"
        for page in sorted(REFERENCE.glob("*.md"))
        for module, names in LIST.findall(page.read_text(encoding="utf-8"))
        for name in names.split()
    ]


def public() -> dict[str, object]:
    """Return the classes and functions that users may import."""
    result = {}
    for module in map(import_module, MODULES):
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        result |= {f"{module.__name__}.{name}": getattr(module, name) for name in names}
    return {name: value for name, value in result.items() if inspect.isclass(value) or inspect.isfunction(value)}


def members(name: str) -> list[str]:
    """Return the full names of the methods and properties of a class that hedgerow defines; none of a function."""
    module, _, short = name.rpartition(".")
    value, own = getattr(import_module(module), short), []
    for item in dir(value) if inspect.isclass(value) else ():
        member = inspect.getattr_static(value, item)
        kinds = [getattr(member, kind) for kind in ("fget", "func", "__func__") if hasattr(member, kind)]
        function = [*kinds, member][0]
        if inspect.isfunction(function) and function.__module__.startswith("hedgerow") and not item.startswith("_"):
            own.append(f"{name}.{item}")
    return own


def undocumented(names: list[str]) -> list[str]:
    """Return the public names whose class or function is not among those of `names`."""
    pages = {id(getattr(import_module(module), name)) for module, _, name in (item.rpartition(".") for item in names)}
    return [name for name, value in public().items() if id(value) not in pages]


def test_every_public_name_has_a_page():
    assert undocumented(listed()) == []


def test_a_name_without_a_page_is_found():
    names = [name for name in listed() if name != "hedgerow.load_model"]
    assert undocumented(names) == ["hedgerow.load_model", "hedgerow.models.load_model"]


def annotations(value: object) -> Iterator[tuple[str, str, str]]:
    """Yield where each annotation of a public class or function stands, its text, and the module it is in."""
    for base in inspect.getmro(value) if inspect.isclass(value) else [value]:
        if not base.__module__.startswith("hedgerow"):
            continue
        fields = base.__annotations__ if inspect.isclass(base) else {}
        yield from ((f"{value.__name__}.{name}", str(text), base.__module__) for name, text in fields.items())
        for name, member in vars(base).items() if inspect.isclass(base) else [(base.__name__, base)]:
            kinds = [getattr(member, kind) for kind in ("fget", "func", "__func__") if hasattr(member, kind)]
            function = [*kinds, member][0]
            if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
                for argument, text in function.__annotations__.items():
                    yield f"{value.__name__}.{name}({argument})", str(text), function.__module__


def unlisted(names: list[str]) -> dict[str, str]:
    """Return the classes of hedgerow's that annotations of these names use and that have no page, and where."""
    values = [getattr(import_module(module), name) for module, _, name in (item.rpartition(".") for item in names)]
    result = {}
    for where, text, module in (item for value in values for item in annotations(value)):
        for word in re.findall(r"[A-Za-z]\w*", text):
            used = vars(import_module(module)).get(word)
            if inspect.isclass(used) and used.__module__.startswith("hedgerow") and not any(used is v for v in values):
                result[f"{used.__module__}.{used.__name__}"] = where
    return result


def test_whatever_a_public_call_takes_or_returns_has_a_page():
    assert unlisted(listed()) == {}


def test_a_class_that_a_call_returns_without_having_a_page_is_found():
    names = [name for name in listed() if name != "hedgerow.learn.Cost"]
    assert list(unlisted(names)) == ["hedgerow.learn.search.cost.Cost"]


def test_no_name_has_two_pages():
    assert len(set(listed())) == len(listed()) > 40


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="Sphinx is not installed; `make docs` installs it and builds the site.")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-E",
            "-W",
            "--keep-going",
            "-n",
            "-q",
            "docs",
            tmp_path / "site",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert not re.search(
        r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', (tmp_path / "site/index.html").read_text()
    )
    for name in listed():
        page = (tmp_path / "site" / "reference" / "api" / f"{name}.html").read_text("utf-8")
        assert [item for item in (name, *members(name)) if f'id="{item}"' not in page] == []


def test_members_are_methods_and_properties_of_ours():
    result = members("hedgerow.audit.Reconstruction")
    assert {f"hedgerow.audit.Reconstruction.{item}" for item in ("entropy_bits", "uncertainty", "plot")} <= set(result)
    assert "hedgerow.PrivateTreeClassifier.get_params" not in members("hedgerow.PrivateTreeClassifier")
