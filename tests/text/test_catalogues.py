"""The catalogues have a finished translation of each message of the source, and no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from babel.messages import Catalog

from hedgerow.text.language import LANGUAGES

sys.path.insert(0, str(Path(__file__).parents[2] / ".ci"))

import catalogues


@pytest.fixture(scope="module")
def template():
    return catalogues.extracted()


def test_there_is_a_catalogue_of_each_language():
    assert {"en", *catalogues.languages()} == {*LANGUAGES}


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "en"])
def test_every_message_is_translated(template, language):
    problems = [*catalogues.problems(template, catalogues.stored(language))]
    assert problems == [], "run `make catalogues` and fill in src/hedgerow/text/locales"


def catalogue(*messages, language="de"):
    made = Catalog(locale=language, fuzzy=False)
    for message, translation, *flags in messages:
        made.add(message, translation, flags=flags)
    return made


@pytest.mark.parametrize(
    ("translation", "problem"),
    [
        ((), "not translated"),
        (("Zeilen: {rows}", "fuzzy"), "fuzzy"),
        (("Zeilen: {row}",), "values"),
        (("Zeilen",), "values"),
        (("Zeilen: {rows} ",), "space"),
    ],
)
def test_a_fault_of_a_translation_is_reported(translation, problem):
    source = catalogue(("Rows: {rows}", ""))
    made = catalogue(*([("Rows: {rows}", *translation)] if translation else []))
    assert any(problem in line for line in catalogues.problems(source, made))


def test_a_translation_without_its_message_is_reported():
    assert [*catalogues.problems(catalogue(), catalogue(("gone", "weg")))] == ["not in the source: 'gone'"]


def test_plural_forms_may_omit_a_count_that_the_singular_omits():
    message = ("one row", "{count} rows")
    for translation, is_right in ((("eine Zeile", "{count} Zeilen"), True), (("eine Zeile", "Zeilen"), False)):
        result = [*catalogues.problems(catalogue((message, "")), catalogue((message, translation)))]
        assert (result == []) == is_right


def test_french_punctuation_has_a_space_that_does_not_break():
    source = catalogue(("Rows:", ""))
    faults = [*catalogues.problems(source, catalogue(("Rows:", "Lignes :"), language="fr"))]
    assert len(faults) == 1
    assert [*catalogues.problems(source, catalogue(("Rows:", "Lignes\u00a0:"), language="fr"))] == []


def test_an_update_keeps_translations_and_is_stable(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "LOCALES", tmp_path)
    monkeypatch.setattr(catalogues, "extracted", lambda: catalogue(("Rows: {rows}", ""), ("Leaves", "")))
    catalogues.update("de")
    path = catalogues.file_of("de")
    path.write_text(path.read_text().replace('msgid "Leaves"\nmsgstr ""', 'msgid "Leaves"\nmsgstr "Blätter"'))
    before = path.read_text()
    catalogues.update("de")
    assert path.read_text() == before
    assert catalogues.stored("de").get("Leaves").string == "Blätter"
