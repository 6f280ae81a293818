"""Numbers of the pages come from committed files: written into them, or checked in studies."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import hedgerow as hr
from tests.docs.page import ROOT, Page, writer

benchmark_pages = writer.page_numbers.benchmark_pages
MODULES = [
    importlib.import_module(f"tests.docs.numbers.{path.stem}")
    for path in sorted((Path(__file__).parent / "numbers").glob("[a-z]*.py"))
]
CHECKED = sorted({module.PAGE for module in MODULES})


@pytest.mark.parametrize("page", writer.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_has_the_numbers_that_are_written_into_it(page):
    assert writer.written(page) == page.read_text("utf-8"), "run `make numbers`"


def test_every_table_and_number_is_on_a_page():
    used = {match.groups()[1:3] for page in writer.pages() for match in writer.MARK.finditer(page.read_text("utf-8"))}
    assert used | benchmark_pages.places() == set(writer.MAKERS)


def test_the_pages_of_benchmarks_are_those_of_the_scripts():
    pages = benchmark_pages.pages()
    assert {page: page.read_text("utf-8") for page in benchmark_pages.FOLDER.iterdir()} == pages, "run `make numbers`"


def test_every_benchmark_is_in_one_group_of_the_index():
    assert sorted(name for names in benchmark_pages.GROUPS.values() for name in names) == benchmark_pages.scripts()


def test_every_place_of_a_docstring_has_a_number_or_a_table():
    for name in benchmark_pages.scripts():
        for place in benchmark_pages.PLACE.finditer(benchmark_pages.docstring(name)):
            kinds = {kind for kind, made in writer.MAKERS if made == place[1]}
            assert kinds or "/" in place[1], (name, place[1])


def test_no_line_begins_with_a_number_mark_that_would_end_its_paragraph():
    begins = re.compile(r"^ {0,3}<!-- n: ", re.MULTILINE)  # `make format` indents such a line by four
    assert not [page for page in writer.pages() if begins.search(page.read_text("utf-8"))]


def test_a_number_that_is_not_that_of_its_file_is_replaced(tmp_path):
    (tmp_path / "page.md").write_text("There are <!-- n: lines_of_all -->12<!-- /n --> lines.", "utf-8")
    assert ">12<" not in writer.written(tmp_path / "page.md")


@pytest.mark.parametrize("name", CHECKED)
def test_every_number_has_its_source(name):
    page = Page(name)
    for module in MODULES:
        if name == module.PAGE:
            module.check(page)
    assert page.uncovered() == []


def test_every_page_that_is_checked_is_there():
    assert all((ROOT / page).exists() for page in CHECKED)


def test_a_number_without_a_source_is_found(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("# 14 headings\n\nAt .05 it takes 30 s, as Figure 4\nshows, `x = 15` and [16](17.md).\n", "utf-8")
    page = Page(str(file))
    assert len(page.uncovered()) == 3
    page.says("At {} it takes {} s", ".05", "30")
    assert [around for around in page.uncovered() if "[16]" in around] == page.uncovered() != []


def test_a_number_that_is_not_on_the_page_fails(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("It takes 30 s.", "utf-8")
    with pytest.raises(AssertionError, match="does not say: It takes 31 s"):
        Page(str(file)).says("It takes {} s", "31")


def test_the_forecast_on_the_page_equals_the_printed_forecast(tmp_path):
    text = (ROOT / "docs" / "forecasts.md").read_text("utf-8")
    (schema,) = re.findall(r"<!-- file: patients.yaml -->\n+```yaml\n(.*?)```", text, re.DOTALL)
    (path := tmp_path / "patients.yaml").write_text(schema, "utf-8")
    assert f"\n{hr.plan(hr.Schema.load(path), 2000, 1)}\n" in text


MARKED = (
    *("league", "full_league", "three_models", "all_scorecards", "several_classes", "risk_scores"),
    *("forecasts_held", "objectives", "set_costs", "set_laws", "set_rashomon"),
)


@pytest.mark.parametrize("name", MARKED)
def test_tables_mark_the_data_on_which_defaults_were_chosen(name):
    chosen = re.compile(r"^\| (breast.cancer|ctg|cardiotocography|COMPAS|German Credit)\b", re.MULTILINE)
    made = writer.MAKERS["table", name]()
    rows = [line for line in made.splitlines() if chosen.match(line)]
    assert rows
    assert all("†" in row.split("|")[1] for row in rows)
    assert made.endswith(writer.page_numbers.marks.TUNED_NOTE)


def test_the_data_on_which_defaults_were_chosen_are_the_same_everywhere():
    tuned = re.findall(r"#let tuned = \((.*?)\)", (ROOT / "paper" / "paper.typ").read_text("utf-8"))
    assert tuned == [", ".join(f'"{name}"' for name in writer.page_numbers.marks.TUNED)]
    for path in ("stop_probability.py", "objectives.py"):
        result = re.search(r"^DATASETS = \((.*?)\)", (ROOT / "benchmarks" / path).read_text("utf-8"), re.MULTILINE)
        assert result is not None
        assert set(re.findall(r'"(\w+)"', result[1])) <= set(writer.page_numbers.marks.TUNED)
