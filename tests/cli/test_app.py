"""The command line as a whole: help, version, and how errors reach a person."""

import subprocess
import sys
from importlib import import_module

import pytest
from typer.main import get_command

import hedgerow as hr
from hedgerow.cli.app import COMMANDS, GROUPS, _as_typed
from tests.cli.table import FIT, SCHEMA, TREE, a_tree


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_named(run):
    assert run("fit", "none.csv", "--target", "y", "--epsilon", "1")[::2] == (
        2,
        "error: none.csv: No such file or directory\n",
    )


@pytest.mark.usefixtures("folder")
def test_an_unforeseen_exception_does_not_show_its_text(run, monkeypatch):
    def broken(*_):
        raise KeyError("SECRET")

    monkeypatch.setattr("hedgerow.cli.rows.read_table", broken)
    code, _, err = run(*FIT)
    assert code == 1
    assert "internal error: KeyError at" in err
    assert "SECRET" not in err


@pytest.mark.parametrize(
    "words", [(), ("fit",), ("show",), ("predict",), ("schema",), ("schema", "learn"), ("budget",)]
)
def test_help_teaches(words, run):
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "Usage: hedgerow" in out
    assert run("--version")[1] == f"hedgerow {hr.__version__}\n"


def test_the_help_groups_commands_and_options(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    panels = [name for name in GROUPS if f"─ {name} ─" in run("--help")[1]]
    assert panels == ["Learn", "Read", "Report", "Serve", "Budgets and ledgers"]
    lines = run("fit", "--help")[1].splitlines()
    titles = [line.strip("╭─╮ ") for line in lines if line.startswith("╭")]
    assert titles[:3] == ["Arguments", "Options", "Model size and search"]
    assert titles[-2:] == ["Reading the table", "Research only: no privacy guarantee"]


def subcommands(name, command):
    """Yield the commands below a command that run something, with their names."""
    commands = getattr(command, "commands", {})
    for word, sub in commands.items():
        yield from subcommands(f"{name} {word}", sub)
    if not commands:
        yield name, command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name):
    command = get_command(import_module(f"hedgerow.cli.{name}").app)
    for words, sub in subcommands(name, command):
        assert f"hedgerow {words}" in sub.help, words


@pytest.mark.parametrize("name", ["fit", "plan", "predict", "evaluate", "audit", "report"])
def test_the_help_of_an_option_has_at_most_two_lines_on_average(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "100")
    options = get_command(import_module(f"hedgerow.cli.{name}").app).params
    lines = [line for line in run(name, "--help")[1].splitlines() if line.startswith("│")]
    assert len(options) < len(lines) <= 2 * len(options)


def test_a_file_without_a_model_is_an_error_of_one_line(folder, run):
    (folder / "other.json").write_text('{"format": "hedgerow/marginals"}')
    for words in (("show", "other.json"), ("predict", "other.json", "data.csv")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        expected = "expected one of the formats hedgerow/rule-list, hedgerow/tree, hedgerow/scorecard"
        assert err == f"error: other.json: {expected}, got 'hedgerow/marginals'.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_commands_has_the_first_line_of_each(name):
    loaded = get_command(import_module(f"hedgerow.cli.{name}").app)
    assert (loaded.help or "").split("\n")[0] == COMMANDS[name]


LEARNERS = ("sklearn", "scipy.stats", "scipy.optimize")
ENGINES = ("duckdb", "ibis", "sqlglot")
OTHERS = ("matplotlib", "jinja2", "sqlalchemy", "fastapi", "cryptography", "onnx")
READING = (*LEARNERS, *ENGINES, *OTHERS, "pandas", "scipy")


def test_a_command_loads_no_library_that_it_does_not_need(folder):
    """One after another in one process, those first that need least: what one loads is there for all that follow."""
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    unused = (*LEARNERS, *ENGINES, *OTHERS)
    commands = [
        (("--help",), (*READING, "numpy", "pyarrow", "narwhals", "opendp")),
        (("show", "tree.json"), READING),
        (("predict", "tree.json", "data.csv", "-o", "predicted.csv"), unused),
        (("schema", "check", "schema.yaml", "data.csv"), unused),
        (FIT, unused),
        ((*TREE, "--force"), unused),
        (("plan", "--schema", "schema.yaml", "--rows", "100", "--epsilon", "1"), unused),
    ]
    code = f"import sys\nfrom hedgerow.cli import main\nfor words, unused in {commands}:\n"
    code += "    sys.argv = ['hedgerow', *words]\n    try: main()\n"
    code += "    except SystemExit as end: print('\\nend', words[0], end.code, *(set(unused) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ends = [line for line in done.stdout.splitlines() if line.startswith("end ")]
    assert ends == [f"end {words[0]} 0" for words, _ in commands]


def test_a_command_that_is_not_there_is_named(run):
    code, _, err = run("learn")
    assert code == 2
    assert "No such command 'learn'" in err


def test_an_unknown_choice_is_named_without_words_of_the_parser(run):
    err = run("fit", "data.csv", "--model", "forest")[2]
    assert "'forest' is not one of" in " ".join(err.split())
    assert "Value error" not in err


def test_a_message_names_an_option_as_it_is_typed(run, folder):
    (folder / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    words = ("schema", "learn", "data.csv", "--schema", "open.yaml", "--epsilon", "1", "-o", "t.yaml")
    assert run(*words, "--bins", "1")[2] == "error: --bins must be a whole number >= 2, got 1.\n"
    hard = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "1", "--search", "exact")
    assert "(--max-rules), fewer literals (--max-literals)" in run(*hard, "--max-rules", "9", "--max-literals", "3")[2]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("max_rules must be 1, as 'max_rules' says.", "--max-rules must be 1, as 'max_rules' says."),
        ("points must be 2; points are whole.", "--points must be 2; points are whole."),
        ("all points must be 2, of my_max_rules.", "all points must be 2, of my_max_rules."),
    ],
)
def test_only_names_of_options_are_replaced(message, shown):
    assert _as_typed(message, ["--max-rules", "--points"]) == shown
