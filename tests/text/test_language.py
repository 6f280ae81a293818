"""Messages, numbers and dates in each language, and a language that belongs to one thread or task."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from hedgerow.text.language import (
    LANGUAGES,
    _,
    decimal,
    gettext_noop,
    in_language,
    language,
    long_date,
    ngettext,
    number,
    percent,
    percentage,
    pgettext,
    significant,
)
from hedgerow.text.markup import templates
from hedgerow.text.values import rounded_text

sys.path.insert(0, str(Path(__file__).parents[2] / ".ci"))

import catalogues

SOURCE = Path(__file__).parents[2] / "src" / "hedgerow"
PAGE = "This page is complete in one file: it loads nothing and runs no scripts."


def test_messages_are_in_the_language_of_the_block():
    shown = {}
    for name in LANGUAGES:
        with in_language(name):
            shown[name] = _(PAGE)
    assert shown["en"] == PAGE
    assert len({*shown.values()}) == len(LANGUAGES)
    assert language() == "en"


def test_a_language_ends_with_its_block_after_an_error_too():
    with pytest.raises(KeyError, match="x"), in_language("de"):
        raise KeyError("x")
    assert language() == "en"


def test_an_unknown_language_names_those_there_are():
    with pytest.raises(ValueError, match=r"en, de, fr.*'es'"), in_language("es"):
        pass


def test_values_are_filled_in_with_local_numbers():
    message = "{rows} rows, {share}, {name}"
    assert _(message, rows=12345, share=0.5, name="a,b.c") == "12,345 rows, 0.5, a,b.c"
    with in_language("de"):
        assert _(message, rows=12345, share=0.5, name="a,b.c") == "12.345 rows, 0,5, a,b.c"
        assert ngettext("{count} item of x", "{count} items of x", 1) == "1 item of x"
        assert ngettext("{count} item of x", "{count} items of x", 2000) == "2.000 items of x"
        assert pgettext("a context", "no {x}", x=True) == "no True"
    assert gettext_noop(message) == message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("en", ("1,234.50", "12.3 %", "0.05 %", "2.5e-06", "2026-11-03")),
        ("de", ("1.234,50", "12,3 %", "0,05 %", "2,5e-06", "3. November 2026")),
        ("fr", ("1 234,50", "12,3 %", "0,05 %", "2,5e-06", "3 novembre 2026")),
    ],
)
def test_numbers_and_dates_follow_the_language(name, expected):
    with in_language(name):
        shown = (decimal(1234.5, 2), percent(0.1234, 1), percentage(0.05), number(2.5e-6), long_date(date(2026, 11, 3)))
    assert tuple(re.sub("[\u00a0\u202f]", " ", text) for text in shown) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12344.9, "12,340"),
        (-1264.2, "-1,264"),
        (999.96, "1,000"),
        (0.000123449, "0.0001234"),
        (0.0, "0"),
        (2e15, "2e+15"),
    ],
)
def test_significant_digits_need_no_exponent(value, expected):
    assert significant(value, 4) == rounded_text(value, 4) == expected


def test_text_in_data_does_not_follow_the_language():
    with in_language("de"):
        assert (significant(12344.9), rounded_text(12344.9, 4)) == ("12.340", "12,340")


def test_each_thread_and_each_task_has_its_own_language():
    meet = Barrier(2)

    def in_thread(name):
        with in_language(name):
            meet.wait(10)
            shown = _(PAGE), number(0.5)
            meet.wait(10)
        return shown

    with ThreadPoolExecutor(2) as pool, in_language("fr"):
        german, english = pool.map(in_thread, ("de", "en"))
    assert (german[1], english) == ("0,5", (PAGE, "0.5"))

    async def in_task(name):
        with in_language(name):
            await asyncio.sleep(0)
            return number(0.5)

    async def both():
        return await asyncio.gather(*map(in_task, ("de", "en", "fr")))

    assert asyncio.run(both()) == ["0,5", "0.5", "0,5"]


def test_templates_translate_and_escape_values(tmp_path):
    (tmp_path / "page.txt").write_text("{% trans n=n %}{{ n }} rows of {{ name }}{% endtrans %}")
    (tmp_path / "page.html").write_text(
        "{% trans count=n %}one row\n of {{ name }}{% pluralize %}{{ count }} rows\n of {{ name }}{% endtrans %}"
    )
    environment = templates(tmp_path)
    values = {"n": 1234, "name": "<\u202e>"}
    with in_language("de"):
        assert environment.get_template("page.txt").render(values) == "1.234 rows of <\u202e>"
        assert environment.get_template("page.html").render(values) == "1.234 rows of &lt;\\u202e&gt;"
        assert environment.get_template("page.html").render({**values, "n": 1}) == "one row of &lt;\\u202e&gt;"


def test_english_does_not_import_babel():
    code = "import sys, hedgerow; from hedgerow.text.language import _, percent; _('{x}', x=percent(.5)); "
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}print('babel' in sys.modules)"], capture_output=True, check=True
    )
    assert shown.stdout.strip() == b"False"


def calls():
    """Yield the calls of the translating functions in the source, each with where it is."""
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name != "language.py" and "hedgerow.text.language import" in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FUNCTIONS:
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


FUNCTIONS = {"_": 1, "gettext": 1, "gettext_noop": 1, "ngettext": 2, "pgettext": 2}  # arguments that are text


def test_messages_in_the_source_are_constants_whose_values_are_given():
    wrong = []
    for place, node in calls():
        texts = node.args[: FUNCTIONS[node.func.id]]
        if any(isinstance(text, (ast.JoinedStr, ast.BinOp)) for text in texts):
            wrong.append(f"{place}: not a constant")
        if node.func.id == "gettext_noop" or not all(isinstance(text, ast.Constant) for text in texts):
            continue
        named = {name for text in texts for name in re.findall(r"\{([^{}]*)\}", text.value.replace("{{", ""))}
        given = {keyword.arg for keyword in node.keywords} | (
            {"count"} & named if node.func.id == "ngettext" else set()
        )
        if None not in given and named != given:
            wrong.append(f"{place}: {sorted(named ^ given)}")
    assert wrong == []


def test_every_message_in_the_source_is_extracted():
    known = {text for message in catalogues.extracted() for text in np.atleast_1d(message.id)}
    texts = {
        text.value: place
        for place, node in calls()
        for text in node.args[: FUNCTIONS[node.func.id]]
        if isinstance(text, ast.Constant)
    }
    contexts = {node.args[0].value for _place, node in calls() if node.func.id == "pgettext"}
    assert {text: place for text, place in texts.items() if text not in known | contexts} == {}


def test_a_module_that_translates_gives_underscore_no_other_meaning():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if re.search(r"hedgerow\.text\.language import .*\b_\b", source):
            names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Name, ast.arg))]
            wrong += [
                f"{path.relative_to(SOURCE)}:{node.lineno}"
                for node in names
                if getattr(node, "id", getattr(node, "arg", None)) == "_"
                and (isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store))
            ]
    assert wrong == []
