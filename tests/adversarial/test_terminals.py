r"""Claim: models of others are read safely: names, values, classes and texts of cards are never obeyed by a terminal,
never make a line of their own, and never become a formula in a spreadsheet.

Escape sequences of names once reached the terminal, and ``=HYPERLINK(…)`` went into predictions.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from hedgerow.cli import main
from hedgerow.cli.predictions import escape_formula
from hedgerow.errors import DomainError, SchemaError
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Boolean, Categorical, Label, Literal, Schema
from hedgerow.text.values import printable

ATTACK = "a\x1b]0;owned\x07\x1b[2J\nguarantee   epsilon = 0\r\u202eb\u2028c\x9b1m"
PLAIN = "a"


def card(text: str) -> PrivacyCard:
    charge = Charge(text, Fraction(1), mechanism=text, unit=Unit(text, 2))
    return PrivacyCard((charge,), noise=text, software=text, no_guarantee=text, notes=(text,))


def models(text: str) -> list[RuleList | Tree | Scorecard]:
    """A rule list, a tree and a scorecard: all names, values, classes and texts are the given one, or end with it."""
    attributes = {
        f"{text}": Categorical((f"{text}.", "other"), missing="bin", missing_values=(f"{text}?",)),
        "b": Boolean(),
    }
    schema = Schema(attributes, Label(f"y{text}", (f"{text}1", f"{text}2")), (), text)
    literal, label = Literal(text, "=", (f"{text}.",)), f"{text}2"
    rules = (Rule((literal, Literal("b", "true")), (3, 4)), Rule((), label=label))
    return [
        RuleList(schema, rules, card(text)),
        Tree(schema, Split(literal, Leaf((3, 4)), Leaf(label=label)), card(text)),
        Scorecard(schema, (1,), (AttributePoints(text, ((1,), (2,), (3,))),), 0.5, 0.1, card(text)),
    ]


def readings(text: str) -> dict[str, str]:
    """Return all that is meant for reading."""
    result = {"budget": str(_budget(text)), "budget as html": _budget(text)._repr_html_()}
    for model in models(text):
        own = {
            "str": str(model),
            "repr": repr(model),
            "schema": str(model.schema),
            "repr of schema": repr(model.schema),
            "card": str(model.privacy),
            "repr of card": repr(model.privacy),
            "html": model.to_html(),
            "card as html": model.privacy.to_html(),
            "schema as html": model.schema._repr_html_(),
            "comment in SQL": model.to_sql().partition("*/")[0],
            "comments in Python": "\n".join(re.findall("(?m)^ +# .*$", model.to_python())),
        }
        if not isinstance(model, Scorecard):
            own["conditions"] = "\n".join(model.conditions)
            own["rules"] = "\n".join(rule["condition"] for rule in model.get_rules())
        result |= {f"{model.kind}: {key}": value for key, value in own.items()}
    return result


def _budget(text: str) -> Budget:
    budget = Budget(2)
    budget.charge(1, purpose=text)
    return budget


@pytest.mark.parametrize("key", readings(PLAIN))
@pytest.mark.claim("no line break in them starts a new line")
def test_printed_names_have_no_control_characters_or_line_breaks(key: str) -> None:
    said, harmless = readings(ATTACK)[key], readings(PLAIN)[key]
    assert printable(said, keep="\n") == said
    assert len(said.splitlines()) == len(harmless.splitlines())
    assert ("owned" in said) == (harmless != said)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_pictures_hold_no_control_character(place: int) -> None:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    model = models(ATTACK)[place]
    for draw in (model.plot, *([model.form] if isinstance(model, Scorecard) else [])):
        axes = Figure().subplots()
        draw(axes)
        texts = [result.get_text() for result in axes.findobj(Text)]
        assert any("owned" in text for text in texts)
        assert all(printable(text, keep="\n") == text for text in texts)


@pytest.mark.claim("never reach a terminal, a picture or an error message")
def test_errors_hold_no_control_character() -> None:
    model = models(ATTACK)[0]
    errors = [
        (
            SchemaError,
            lambda: RuleList(model.schema, (Rule((Literal(ATTACK * 2, "true"),), (1, 2)), model.rules[1]), card("x")),
        ),
        (SchemaError, lambda: model.schema[ATTACK].truth(Literal(ATTACK, "=", (f"{ATTACK}!",)))),
        (DomainError, lambda: model.predict(pa.table({"other": [1]}))),
        (DomainError, lambda: model.predict(pa.table({ATTACK: ["unknown"], "b": [True]}))),
        (DomainError, lambda: model.schema.label.checked(pa.array([-1]).to_numpy())),
        (ValueError, lambda: RuleList(model.schema, (Rule((), label=f"{ATTACK}?"),), card("x"))),
        (SchemaError, lambda: Schema({f"{ATTACK}": Boolean()}, Label(f"{ATTACK}", (0, 1)))),
    ]
    for kind, act in errors:
        with pytest.raises(kind, match=r"owned|the table has no such column") as caught:
            act()
        assert printable(str(caught.value)) == str(caught.value)


def test_data_are_not_changed() -> None:
    for model in models(ATTACK):
        again = type(model).from_json(model.to_json())
        assert again == model
        rows = pa.table({ATTACK: [f"{ATTACK}.", "other"], "b": [True, True]})
        assert again.predict(rows).tolist() == [f"{ATTACK}2", f"{ATTACK}2"]
        assert ATTACK in json.loads(model.to_json())["schema"]["attributes"]
        names: dict = {}
        exec(model.to_python(), names)
        assert names["predict"]({ATTACK: f"{ATTACK}.", "b": True}) == f"{ATTACK}2"
        if not isinstance(model, Scorecard):
            assert [rule["prediction"] for rule in model.get_rules()] == [f"{ATTACK}2"] * 2


@pytest.mark.parametrize("form", ["text", "json", "sql", "python", "html"])
@pytest.mark.claim("never reach a terminal, a picture or an error message")
def test_a_terminal_gets_no_control_character(tmp_path: Path, form: str) -> None:
    models(ATTACK)[0].save(tmp_path / "model.json")
    harmless(on_terminal("show", str(tmp_path / "model.json"), "--format", form))


def test_a_terminal_gets_no_control_character_of_an_error() -> None:
    harmless(on_terminal("show", f"model{ATTACK.replace('/', '')}.json", stream="stderr"))


def harmless(said: str) -> None:
    assert "owned" in said
    assert printable(said, keep="\r\n") == said  # the terminal's own line ends are \r\n
    assert said.replace("\r\n", "").count("\r") == 0


@pytest.mark.parametrize("form", ["schema", "predictions", "predictions in JSON"])
def test_terminals_get_no_control_characters_of_schemas(tmp_path: Path, form: str) -> None:
    model = tree("y", ATTACK)
    model.save(tmp_path / "model.json")
    model.schema.save(tmp_path / "schema.json")
    (tmp_path / "rows.csv").write_text("b\ntrue\n")
    predict = ("predict", str(tmp_path / "model.json"), str(tmp_path / "rows.csv"))
    words = {"schema": ("schema", "show", str(tmp_path / "schema.json")), "predictions": predict}
    harmless(on_terminal(*words.get(form, (*predict, "--json"))))


def test_error_lines_in_files_have_no_control_characters() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from hedgerow.cli import main; main()", "show", f"{ATTACK}.json".replace("/", "")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert printable(run.stderr, keep="\n") == run.stderr


def on_terminal(*arguments: str, stream: str = "stdout") -> str:
    """Run a command with a stream on a terminal of its own, and return what arrives there."""
    ours, its = pty.openpty()
    with ThreadPoolExecutor() as pool, pytest.MonkeyPatch.context() as patch:
        said = pool.submit(read_to_the_end, ours)
        patch.setattr(sys, "argv", ["hedgerow", *arguments])
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "10000")
        with open(its, "w", encoding="utf-8") as terminal:
            assert terminal.isatty()
            patch.setattr(sys, stream, terminal)
            with pytest.raises(SystemExit):
                main()
    os.close(ours)
    return said.result().decode()


def read_to_the_end(terminal: int) -> bytes:
    said = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return said
        said += piece


Run = Callable[..., tuple[int, str, str]]
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(1)", '=HYPERLINK("http://x","y")', "＝1", "+", "-no", "+1_000", "-inf"]
HARMLESS = ["-1", "+1.5", "-1e5", ".5", "1=1", "'=1", "a", "yes"]


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_a_spreadsheet_would_run_is_written_with_an_apostrophe(tmp_path: Path, text: str, run: Run) -> None:
    model = tree(text, text)
    header, *rows = predictions(tmp_path, model, run)
    assert header[0] == f"'{text}"
    assert {row[0] for row in rows} == {f"'{text}", "z"}
    out, err = predicted(tmp_path, run, "--json")
    assert [row[text] for row in json.loads(out)] == [text, "z"]
    assert "apostrophe" not in err


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_is_written_as_it_is(tmp_path: Path, text: str, run: Run) -> None:
    header, *rows = predictions(tmp_path, tree(text, text), run, noted=False)
    assert header[0] == text
    assert {row[0] for row in rows} == {text, "z"}


@pytest.mark.parametrize("start", ["\t", "\r", "\n"])
def test_names_that_begin_with_white_space_are_inert_too(start: str) -> None:
    assert escape_formula(f"{start}=1") == f"'{start}=1"
    assert (escape_formula(-5), escape_formula(True)) == (-5, True)


def tree(name: str, value: str) -> Tree:
    schema = Schema({"b": Boolean()}, Label(name, (value, "z")))
    first, other = (tuple(5 * (class_ == label) for class_ in schema.classes) for label in (value, "z"))
    return Tree(schema, Split(Literal("b", "true"), Leaf(first), Leaf(other)), card("x"))


def predicted(folder: Path, run: Run, *options: str) -> tuple[str, str]:
    code, out, err = run("predict", folder / "model.json", folder / "rows.csv", "--proba", *options)
    assert code == 0
    return out, err


def predictions(folder: Path, model: Tree, run: Run, *, noted: bool = True) -> list[list[str]]:
    model.save(folder / "model.json")
    (folder / "rows.csv").write_text("b\ntrue\nfalse\n")
    out, err = predicted(folder, run)
    assert err.count("apostrophe") == noted
    return list(csv.reader(io.StringIO(out)))
