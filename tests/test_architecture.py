"""The import contract: docs/architecture.md says which room may import which, and the code keeps to it.

Imports inside functions count as others do. Those for annotations alone (``if TYPE_CHECKING``) count between rooms, and
not for libraries, which they do not load.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hedgerow"
PAGE = ROOT / "docs" / "architecture.md"
GROUND, PUBLIC = ("_version", "text", "errors", "boundary"), "hedgerow"
MODELS = {"Model", "LeafModel", "RuleList", "Tree", "Scorecard"}


@dataclass(frozen=True)
class Import:
    """A module, and a module or name that it imports."""

    importer: str
    imported: str
    loads: bool = True

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported}"


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """Return all nodes of a module's source."""
    return [*ast.walk(ast.parse(source))]


def imports(importer: str, source: str) -> Iterator[Import]:
    """Yield the imports of a module's source, those inside functions included."""
    nodes = nodes_of(source)
    ifs = [node for node in nodes if isinstance(node, ast.If)] if "TYPE_CHECKING" in source else []
    guards = [node for node in ifs if "TYPE_CHECKING" in ast.unparse(node.test)]
    typing = {inner for guard in guards for statement in guard.body for inner in ast.walk(statement)}
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(importer, alias.name, node not in typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{importer} has a relative import"
            yield from (Import(importer, f"{node.module}.{alias.name}", node not in typing) for alias in node.names)


def room(module: str, rooms: Iterable[str]) -> str:
    """Return the room of a module or name: ``hedgerow.learn.base`` is in learn, ``hedgerow.Schema`` in hedgerow."""
    second = [*module.split("."), ""][1]
    return second if second in rooms else PUBLIC


def arrows(found: Iterable[Import], rooms: Iterable[str]) -> Iterator[tuple[str, str, Import]]:
    """Yield the imports that go from one room to another, with both."""
    for item in found:
        if item.imported.partition(".")[0] == "hedgerow":
            start, end = room(item.importer, rooms), room(item.imported, rooms)
            if start != end:
                yield start, end, item


def forbidden(found: Iterable[Import], allowed: Mapping[str, set[str]]) -> list[str]:
    """Return the imports between rooms that the page does not allow."""
    return [str(item) for start, end, item in arrows(found, allowed) if end not in allowed[start]]


def misplaced(found: Iterable[Import], keepers: Mapping[str, list[str]]) -> list[str]:
    """Return the imports of libraries outside the rooms that keep them to themselves."""
    libraries = [
        (item, item.imported.partition(".")[0], [*item.importer.split("."), ""][1]) for item in found if item.loads
    ]
    return [str(item) for item, library, place in libraries if place not in keepers.get(library, [place])]


def calling(modules: Mapping[str, str], *names: str) -> dict[str, list[str]]:
    """Return the calls of functions, classes or methods of these names by module, each with its line."""
    return _places(
        modules,
        lambda node: isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in names,
    )


def kind_checks(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the calls outside models that ask for the kind of a model by `isinstance`, by module."""
    others = {name: source for name, source in modules.items() if not name.startswith("hedgerow.models")}
    return _places(
        others,
        lambda node: (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
            and bool(MODELS & {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)})
        ),
    )


def _places(modules: Mapping[str, str], is_wanted: Callable[[ast.AST], bool]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for name, source in modules.items():
        for node in filter(is_wanted, nodes_of(source)):
            places.setdefault(name, []).append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    return places


def assert_none(wrong: list[str], remedy: str) -> None:
    assert not wrong, "\n".join([remedy, *wrong])


def assert_only(allowed: set[str], places: Mapping[str, list[str]], remedy: str) -> None:
    """Check that exactly these modules have such places; otherwise, show the places and the remedy."""
    assert_none([place for name in sorted(places.keys() - allowed) for place in places[name]], remedy)
    assert places.keys() == allowed, f"Modules that no longer need an exception: {sorted(allowed - places.keys())}"


def table(heading: str) -> list[tuple[list[str], list[str]]]:
    """Return the rows of a table of the page: the names in its first column, and the rooms of the one that has them."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    column = {"The rooms": 2, "Libraries with restricted imports": 1}[heading]
    return [(re.findall(r"`(\w+)`", cells[0]), re.findall(r"`(\w+)`", cells[column])) for cells in rows]


def contract() -> dict[str, set[str]]:
    """Return what each room may import, by the page."""
    return {
        name: {item for word in allowed for item in (GROUND if word == "ground" else [word])} - {name}
        for rooms, allowed in table("The rooms")
        for name in rooms
    }


@pytest.fixture(scope="module")
def modules():
    names = {path: ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for path, name in names.items()}


@pytest.fixture(scope="module")
def found(modules):
    return [item for name, source in modules.items() for item in imports(name, source)]


def test_the_page_lists_every_room():
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(contract()) == rooms - {"__init__"} | {PUBLIC}


def test_rooms_import_only_rooms_that_the_page_allows(found):
    remedy = "Move the code to a room that may import this, or pass it the value; docs/architecture.md lists the rooms."
    assert_none(forbidden(found, contract()), remedy)


def unused(found: Iterable[Import], allowed: Mapping[str, set[str]]) -> list[str]:
    """Return the imports of rooms above the ground that the page allows and no module has."""
    used = {(start, end) for start, end, _ in arrows(found, allowed)}
    return [
        f"{start} imports {end}"
        for start, ends in allowed.items()
        for end in sorted(ends - {*GROUND})
        if (start, end) not in used
    ]


def test_the_page_allows_nothing_that_no_module_needs(found):
    assert_none(unused(found, contract()), "Remove these from the table of rooms in docs/architecture.md.")
    assert unused([], {"schema": {"errors", "privacy"}, "privacy": {"errors"}}) == ["schema imports privacy"]


def test_the_page_allows_nothing_upward():
    above = []
    for rooms, allowed in reversed(table("The rooms")):
        assert not set(allowed) & set(above), f"{rooms} may import what is above"
        above += rooms


def test_rooms_do_not_import_in_circles(found):
    graph: dict[str, set[str]] = {}
    for start, end, _ in arrows(found, contract()):
        graph.setdefault(start, set()).add(end)
    TopologicalSorter(graph).prepare()


def module_graph(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports, those inside functions and for annotations included."""
    graph = {}
    for name, source in modules.items():
        imported = [item.imported for item in imports(name, source)]
        graph[name] = {item if item in modules else item.rpartition(".")[0] for item in imported} & modules.keys() - {
            name
        }
    return graph


def test_modules_do_not_import_in_circles(modules):
    TopologicalSorter(module_graph(modules)).prepare()


@pytest.mark.parametrize("line", ["if TYPE_CHECKING:", "def f():"])
def test_a_circle_of_modules_is_found(line):
    modules = {"hedgerow.schema.a": "from hedgerow.schema.b import B", "hedgerow.schema.b": ""}
    test_modules_do_not_import_in_circles(modules)
    modules["hedgerow.schema.b"] = f"{line}\n    from hedgerow.schema.a import A"
    with pytest.raises(CycleError, match="cycle"):
        test_modules_do_not_import_in_circles(modules)


def test_libraries_stay_in_their_room(found):
    rows = table("Libraries with restricted imports")
    keepers = {library: rooms for libraries, rooms in rows for library in libraries}
    assert {"ibis", "opendp", "typer"} <= set(keepers)
    remedy = "Only the rooms that docs/architecture.md lists import this library; call a function of theirs."
    assert_none(misplaced(found, keepers), remedy)


def test_only_the_gate_charges_a_budget(modules):
    remedy = (
        "Only privacy/gate.py charges a budget. Call `Gate.release` in a function that is passed to `spend`, "
        "and name a method that returns a Charge `planned_charge`."
    )
    assert_only({"hedgerow.privacy.gate"}, calling(modules, "charge", "allocate"), remedy)


def test_only_the_gate_opens_gates_and_notes_charges_on_errors(modules):
    """Callers pass `spend` or `spend_share` a function that returns the finished result, and place no guard."""
    remedy = "Pass `spend` or `spend_share` of privacy/gate.py a function of the gate that returns the finished result."
    assert_only({"hedgerow.privacy.gate"}, calling(modules, "Gate"), remedy)
    own = {"hedgerow.privacy.gate", "hedgerow.privacy.budget"}
    command_line = {"hedgerow.cli.budget"}  # one function hands the release over to its file
    assert_only(own | command_line, calling(modules, "note_charges"), remedy)
    assert_only({"hedgerow.marginals.base"}, calling(modules, "note_answers"), remedy)


def test_other_rooms_ask_a_model_by_its_methods(modules):
    remedy = "Call a method of `Model` (models/model.py) instead of asking for its class; add one if none fits."
    assert_only(set(), kind_checks(modules), remedy)


RENDERED = {"words", "purpose", "no_guarantee_reason", "guarantee", "headline", "neighbours"}
"""Attributes of facts, charges, cards and budgets that are sentences, rendered by `hedgerow.privacy.wording`."""
DISPLAY = {
    *(f"hedgerow.privacy.{name}" for name in ("account", "card", "charge", "unit", "wording")),
    *(f"hedgerow.models.{name}" for name in ("extra_contents", "leaf_model", "model", "model_card", "scorecard")),
    *(f"hedgerow.report.{name}" for name in ("card_checks", "evaluated", "exports", "promises", "report", "statement")),
    *("hedgerow.evaluation.evaluation", "hedgerow.learn.blocks", "hedgerow.service.ledger.entry"),
    *("hedgerow.service.pages.views", "hedgerow.service.receipts"),
}
"""Modules that show such sentences to people."""
OTHER_WORDS = {
    *("hedgerow.audit.counting.regions", "hedgerow.audit.inference.labelled", "hedgerow.models.point_lines"),
    "hedgerow.audit.attack_subject",
    *("hedgerow.models.point_totals", "hedgerow.models.readers.documents", "hedgerow.models.scorecard_form"),
    "hedgerow.models.scorecard_page",
    *("hedgerow.models.size", "hedgerow.planning.simulation", "hedgerow.report.contents", "hedgerow.schema.attributes"),
    *("hedgerow.report.units", "hedgerow.schema.contributions", "hedgerow.schema.derived"),
}
"""Modules whose own classes have an attribute of such a name."""


def rendered(node: ast.AST) -> list[ast.Attribute]:
    """Return the rendered attributes in a part of a program; a source of noise may state a reason in its own words."""
    result = [inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute) and inner.attr in RENDERED]
    return [item for item in result if not re.search("noise|source", ast.unparse(item)) or item.attr == "words"]


def sentences_read(source: str) -> list[int]:
    """Return the lines that decide by a rendered sentence: that compare, search, split, index or test it."""
    lines = list[int]()
    has_any = any(f".{name}" in source for name in RENDERED)
    for node in nodes_of(source) if has_any else ():
        parts = list[ast.AST]()
        if isinstance(node, ast.Compare):
            parts = [node]
        elif isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            parts = [node.test]
        elif isinstance(node, ast.comprehension):
            parts = list(node.ifs)
        elif isinstance(node, ast.BoolOp):
            parts = list(node.values)
        elif isinstance(node, (ast.Subscript, ast.Match)):
            parts = [node.value if isinstance(node, ast.Subscript) else node.subject]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_text = [node.func.value] if isinstance(node.func.value, ast.Attribute) else []
            called = ast.unparse(node.func.value)
            parts = [*of_text, *(node.args if called == "re" or called.isupper() else [])]
        lines += [item.lineno for part in parts for item in rendered(part)]
    return sorted(set(lines))


def test_no_program_decides_by_a_sentence_of_a_card(modules):
    own = OTHER_WORDS | {"hedgerow.privacy.wording"}
    wrong = [f"{name}:{line}" for name in modules.keys() - own for line in sentences_read(modules[name])]
    assert_none(sorted(wrong), "Compare the codes and details of facts, not their sentences.")


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "lab", "studies"])
def test_no_script_decides_by_the_sentence_of_a_charge(folder):
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py")}
    lines = [
        (path, source.splitlines()[line - 1]) for path, source in sources.items() for line in sentences_read(source)
    ]
    wrong = [f"{path}: {line.strip()}" for path, line in lines if ".purpose" in line]
    assert_none(sorted(wrong), "Compare the codes and details of facts, not their sentences.")


def test_only_display_code_reads_the_sentences_of_cards(modules):
    places = {
        name: [f"{name}:{item.lineno}: {ast.unparse(item)}" for item in rendered(nodes_of(source)[0])]
        for name, source in modules.items()
    }
    others = {name: lines for name, lines in places.items() if lines and name not in OTHER_WORDS}
    remedy = "Only modules of DISPLAY, in this file, show sentences of facts; others use codes and details of facts."
    assert_only(DISPLAY, others, remedy)


@pytest.mark.parametrize(
    "line",
    [
        'found = "counts" in charge.purpose',
        "found = card.headline == other",
        'found = charge.query.words.startswith("counts of")',
        "found = _COUNTS.fullmatch(charge.purpose)",
        'found = re.search("scale", charge.mechanism.words)',
        'found = (card.no_guarantee_reason or "").split("; ")',
        "found = 1 if card.no_guarantee_reason else 0",
        "found = charge.purpose[:8]",
        "found = [one for one in charges if one.purpose]",
    ],
)
def test_a_program_that_decides_by_a_sentence_is_found(line):
    assert sentences_read(line) == [1]
    assert not sentences_read('shown = f"charged for {charge.purpose}: {printable(card.headline)}"')


def test_every_room_has_its_own_tests():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if not any((ROOT / "tests").glob(f"{room}/**/test_*.py"))} == {"datasets"}


def test_no_test_file_is_imported():
    """What several files share is in a plain module beside them."""
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    few = {
        path: source
        for path, source in sources.items()
        if re.search(r"import[\s\w,.(]*\btest_|\btest_\w+\s+import", source)
    }
    result = [(str(path), item.imported) for path, source in few.items() for item in imports("tests", source)]
    assert [(path, name) for path, name in result if re.search(r"(^|\.)test_", name)] == []


@pytest.mark.parametrize(
    ("importer", "source", "imported"),
    [
        ("hedgerow.models.tree", "from hedgerow.learn.base import Specification", "hedgerow.learn.base.Specification"),
        ("hedgerow.schema.schema", "def f():\n    from hedgerow import tally", "hedgerow.tally"),
        ("hedgerow.privacy.gate", "import hedgerow.schema.label", "hedgerow.schema.label"),
        ("hedgerow.errors", "if TYPE_CHECKING:\n    from hedgerow import Schema", "hedgerow.Schema"),
    ],
)
def test_an_import_upward_is_found(importer, source, imported):
    assert forbidden(imports(importer, source), contract()) == [f"{importer} imports {imported}"]


def test_a_library_outside_its_room_is_found():
    source = "import ibis\ndef f():\n    import pyspark.sql\nif TYPE_CHECKING:\n    import ibis.expr"
    wrong = ["hedgerow.learn.base imports ibis", "hedgerow.learn.base imports pyspark.sql"]
    keepers = {"ibis": ["engines"], "pyspark": ["engines"]}
    assert misplaced(imports("hedgerow.learn.base", source), keepers) == wrong
    assert misplaced(imports("hedgerow.engines.count", source), keepers) == []


def test_a_circle_is_found():
    upward = [
        *imports("hedgerow.text.values", "import hedgerow.errors"),
        *imports("hedgerow.errors", "import hedgerow.text.values"),
    ]
    with pytest.raises(CycleError, match="cycle"):
        test_rooms_do_not_import_in_circles(upward)


def test_a_charge_outside_the_gate_is_found():
    modules = {"hedgerow.learn.base": "def f(budget):\n    budget.charge(1)"}
    place = "hedgerow.learn.base:2: budget.charge(1)"
    assert calling(modules, "charge") == {"hedgerow.learn.base": [place]}
    with pytest.raises(AssertionError, match=r"`planned_charge`\.\n *hedgerow.learn.base:2: budget"):
        test_only_the_gate_charges_a_budget(modules)
    assert calling({"hedgerow.learn.base": "gate = Gate(budget, noise)"}, "Gate").keys() == {"hedgerow.learn.base"}


def test_a_check_of_a_models_kind_outside_models_is_found():
    source = "def f(model):\n    return isinstance(model, (str, Tree))"
    checks = kind_checks({"hedgerow.report.subject": source, "hedgerow.models.files": source})
    assert checks == {"hedgerow.report.subject": ["hedgerow.report.subject:2: isinstance(model, (str, Tree))"]}
