"""The `hedgerow` command and its subcommands. An error is printed on stderr without traceback; exit code 2."""

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
from hedgerow.errors import ArgumentError, HedgerowError, LedgerUnavailableError, SchemaError, SearchTooLargeError
from hedgerow.text.messages import charge_notes, place_notes
from hedgerow.text.values import printable

_ENDINGS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Learn": {
        "schema": "Create and check schemas, which list the public facts about a table.",
        "tally": "Count a table into a PRIVATE file to learn from, merge such files, or print the counting query.",
        "plan": "Choose the model, its size and epsilon before spending any privacy budget.",
        "fit": "Learn a rule list, tree or scorecard from a sensitive table under differential privacy.",
    },
    "Read": {
        "show": "Show a model with its privacy card, or export it as SQL, Python, PMML, HTML, JSON or a model card.",
        "predict": "Predict the class or number of every row of a table with a released model.",
    },
    "Report": {
        "evaluate": "Release noisy accuracy, cost, AUROC and calibration of a model on private rows, by group.",
        "audit": "Measure how much a model discloses about its training rows.",
        "attack": "Run a privacy attack on a learner and save the result for a report.",
        "report": "Write a report on a model for a review board: a public sheet and a board's sheet.",
    },
    "Serve": {
        "serve": "Run a service that answers analysts' questions about private tables within privacy budgets.",
        "ask": "Ask a service a question about its private tables. The API key is read from $HEDGEROW_KEY.",
        "answer": "Answer a question that an analyst sent as a file, with the same ledger, caps and receipts.",
    },
    "Budgets and ledgers": {
        "budget": "Keep one privacy budget across several runs, in a file.",
        "ledger": "Verify, print, export and back up the ledger of a service.",
        "verify": "Verify the signature and the charge of an answer or model of a service.",
    },
}
COMMANDS: Mapping[str, str] = {name: text for commands in GROUPS.values() for name, text in commands.items()}


_LINE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")  # within a paragraph


class LazyGroup(TyperGroup):
    """Commands whose modules are imported when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called."""
        name = args[0]
        if name in COMMANDS:
            self.commands[name] = _loaded(name)
        gc.freeze()  # imported modules stay in memory
        gc.enable()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors of options lack the prefix "Value error," of Typer's parser."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


@cache
def _loaded(name: str) -> Any:
    command: Any = get_command(import_module(f"hedgerow.cli.{name}").app)
    for part in (command, *getattr(command, "commands", {}).values()):
        # Typer keeps the line breaks of a docstring, which are too long for a terminal
        part.help = _LINE_BREAK.sub(" ", part.help or "")
    return command


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


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn, read, apply and audit interpretable models from sensitive tables, under differential privacy."""


def main() -> None:
    """Run the command line and exit with its code; after a signal, with 128 plus the number of the signal.

    Messages of hedgerow's own errors contain no cells of a table and are printed. Of any other exception, only the
    type and location are printed, because its message could quote cells.
    """
    gc.disable()  # imports create many objects and free few; enabled again when the command is loaded
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
    """Turn the first termination signal into `KeyboardInterrupt`, so that files are cleaned up and charges reported.

    Later signals are ignored, as are signals that were ignored when the command started.
    """
    caught: list[signal.Signals] = []
    numbers = [number for number in _ENDINGS if signal.getsignal(number) != signal.SIG_IGN]

    def leave(number: int, _: object) -> NoReturn:
        for other in numbers:
            signal.signal(other, lambda *_: None)  # with SIG_IGN, a second pending signal would print a traceback
        caught.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _outcome() -> tuple[Any, ...]:
    """Run a command; return its exit code and the lines of its error."""
    try:
        with _reporting_charges():
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
        reasons = {error.reason} - {text} if isinstance(error, LedgerUnavailableError) else ()
        return 2, text, *reasons, *place_notes(error)
    except BaseException as error:  # a panic of polars is not an Exception
        last = traceback.extract_tb(error.__traceback__)[-1]
        return 1, f"internal error: {type(error).__name__} at {last.filename}:{last.lineno}; please report this line."
    return (0,)


@contextmanager
def _reporting_charges() -> Generator[None]:
    """Print what stays charged if the block fails after a charge."""
    try:
        yield
    except BaseException as error:
        cause: BaseException | None = error  # typer replaces KeyboardInterrupt by an error of its own
        while cause is not None and not charge_notes(cause):
            cause = cause.__context__
        for note in () if cause is None else charge_notes(cause):
            say(printable(note), err=True)
        raise


def _options(words: list[str]) -> list[str]:
    command: Any = get_command(import_module(f"hedgerow.cli.{words[0]}").app)
    for word in words[1:]:
        command = getattr(command, "commands", {}).get(word, command)
    return [option for parameter in command.params for option in parameter.opts if option.startswith("--")]


def _as_typed(message: str, options: list[str]) -> str:
    """Return a message in which names of parameters are replaced by the options of a command.

    A name without underscore, such as `points`, is replaced only at the start of the message.
    """
    for option in options:
        name = option[2:].replace("-", "_")
        before, after = (r"(?<![\w'\"`-])", r"(?![\w'\"`])") if "_" in name else ("^", "(?= must )")
        message = re.sub(f"{before}{name}{after}", option, message)
    return message
