"""The `hedgerow` command with its subcommands. Errors are one line on stderr with exit code 2, without traceback."""

import gc
import re
import signal
import sys
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import chain, repeat
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from hedgerow._version import __version__
from hedgerow.cli.output import problem_of, say, standard_streams
from hedgerow.errors import ArgumentError, HedgerowError, SchemaError, SearchTooLargeError
from hedgerow.text.messages import charge_notes, place_notes
from hedgerow.text.values import printable

_ENDINGS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Learn": {
        "schema": "Make, learn and read schemas: what is public about a table.",
        "tally": "Count a table into a private file to learn from; merge such files; print the query that counts.",
        "plan": "Plan a fit before anything is spent: which model, which epsilon, which size.",
        "fit": "Learn a rule list, tree or scorecard from a sensitive table under differential privacy.",
    },
    "Read": {
        "show": "Show a model with its counts and privacy card; or export it: SQL, Python, PMML, HTML, JSON, hub card.",
        "predict": "Predict the class, or number, of every row of a CSV file, with the rule or leaf that predicts it.",
    },
    "Report": {
        "evaluate": "Release accuracy, mean cost, AUROC and calibration on private rows, with noise, by group.",
        "audit": "Measure how much a model discloses about its training rows, by counting possible rows.",
        "attack": "Attack a private learner, and write what the attack reached, to be attached to a report.",
        "report": "Report on a model for a review board: a public sheet, and one for the board.",
    },
    "Serve": {
        "serve": "Serve a curator's tables: analysts ask, a ledger decides, rows stay.",
        "ask": "Ask a curator's service. The API key is read from $HEDGEROW_KEY.",
        "answer": "Answer a question that was carried to you as a file: same ledger, same caps, same receipts.",
    },
    "Account": {
        "budget": "Keep one privacy budget over several runs, in a file.",
        "ledger": "Read and verify the ledger of a curator's service.",
        "verify": "Check that a curator signed this very answer or model, and what it was charged.",
    },
}
COMMANDS: Mapping[str, str] = {name: text for commands in GROUPS.values() for name, text in commands.items()}


class LazyGroup(TyperGroup):
    """The commands by name: the module of one, with all that it imports, is loaded when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called, in place of its line in the help."""
        name = args[0]
        if name in COMMANDS:
            self.commands[name] = _loaded(name)
        gc.freeze()  # what was imported stays
        gc.enable()
        return super().resolve_command(ctx, args)


@cache
def _loaded(name: str) -> Any:
    return get_command(import_module(f"hedgerow.cli.{name}").app)


app = typer.Typer(
    name="hedgerow",
    cls=LazyGroup,
    help="Learn, read, apply and audit interpretable models from sensitive tables, under differential privacy.",
    epilog="Start with: hedgerow schema new data.csv --target COLUMN -o schema.yaml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _group, _commands in GROUPS.items():
    for _name, _help in _commands.items():
        app.command(_name, help=_help, rich_help_panel=_group)(lambda: None)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn, read, apply and audit interpretable models from sensitive tables, under differential privacy."""


def main() -> None:
    """Run the command line, and leave with its exit code: 128 and the number of the signal that stopped it, if one did.

    Messages of hedgerow's errors are shown, as they quote no values. Of any other exception the type and location are
    shown, not the message, which might quote values.
    """
    gc.disable()  # until the command is loaded: imports make many objects and drop few
    with standard_streams(), _signals() as stopped_by:
        code, *lines = _outcome()
        if stopped_by:
            code = 128 + stopped_by[0]
            lines.append(f"stopped by {stopped_by[0].name}")
        for line, start in zip(lines, chain(["error: "], repeat("  ")), strict=False):
            say(f"{start}{printable(line)}", err=True)
    sys.exit(code)


@contextmanager
def _signals() -> Generator[list[signal.Signals]]:
    """Take the first signal to end for Ctrl-C, and keep it: files are cleaned up, and charges said.

    Later ones are ignored, as are those that the command was started to ignore.
    """
    caught: list[signal.Signals] = []
    numbers = [number for number in _ENDINGS if signal.getsignal(number) != signal.SIG_IGN]

    def leave(number: int, _: object) -> NoReturn:
        for other in numbers:
            signal.signal(other, lambda *_: None)  # ignored, a second at the same time would show a traceback
        caught.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _outcome() -> tuple[Any, ...]:
    """Run a command; return its exit code, and the lines of its error, if there is one."""
    try:
        with _saying_charges():
            app(prog_name="hedgerow")
    except SystemExit as leaving:
        return (leaving.code,)
    except OSError as error:
        return 2, problem_of(error), *place_notes(error)
    except SchemaError as error:
        several = error.faults if len(error.faults) > 1 else ()
        return 2, error.heading, *map(str, several), *place_notes(error)
    except HedgerowError as error:
        has_options = isinstance(error, (ArgumentError, SearchTooLargeError))
        text = _as_typed(str(error), _options(sys.argv[1:])) if has_options else str(error)
        return 2, text, *place_notes(error)
    except BaseException as error:  # a panic of polars is not an Exception
        last = traceback.extract_tb(error.__traceback__)[-1]
        return 1, f"internal error, {type(error).__name__} at {last.filename}:{last.lineno}; please report this line."
    return (0,)


@contextmanager
def _saying_charges() -> Generator[None]:
    """Say what stays charged, if the block fails after a charge: typer puts another error in the place of Ctrl-C."""
    try:
        yield
    except BaseException as error:
        found: BaseException | None = error
        while found is not None and not charge_notes(found):
            found = found.__context__
        for note in () if found is None else charge_notes(found):
            say(printable(note), err=True)
        raise


def _options(words: list[str]) -> list[str]:
    command: Any = get_command(import_module(f"hedgerow.cli.{words[0]}").app)
    for word in words[1:]:
        command = getattr(command, "commands", {}).get(word, command)
    return [option for one in command.params for option in one.opts if option.startswith("--")]


def _as_typed(message: str, options: list[str]) -> str:
    """Return a message with the options of a command in the place of the parameters of the same names.

    One of a single word, such as `points`, stands for the parameter where it is what the message begins with.
    """
    for option in options:
        name = option[2:].replace("-", "_")
        before, after = (r"(?<![\w'\"`-])", r"(?![\w'\"`])") if "_" in name else ("^", "(?= must )")
        message = re.sub(f"{before}{name}{after}", option, message)
    return message
