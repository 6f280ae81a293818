"""`hedgerow ask`: ask a curator's service, or write the question to a file that is carried to the curator."""

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.boundary.canonical import digest
from hedgerow.boundary.durable import write_whole
from hedgerow.boundary.untrusted_text import read_text
from hedgerow.cli.options import named_values, number, option, with_groups
from hedgerow.cli.output import check_output, check_outputs, say, write_said
from hedgerow.cli.predictions import cost_lines
from hedgerow.client.connect import RemoteCurator, connect
from hedgerow.client.http import SETTLED
from hedgerow.client.question_files import QuestionFile
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.models.decisions import by_text
from hedgerow.models.files import load_model
from hedgerow.oracle import Always
from hedgerow.privacy.amounts import exact
from hedgerow.schema import Schema

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Ask a curator's service. The API key is read from $HEDGEROW_KEY.",
    epilog="Without a network: add --to question.json, and carry the file to the curator (hedgerow answer). A question "
    "that was sent is kept, with its key, in $XDG_STATE_HOME/hedgerow/asked (~/.local/state/hedgerow/asked) until its "
    "answer is written: after an interruption, the same command gets the same answer at no further charge.",
)
Url = Annotated[str | None, typer.Option(envvar="HEDGEROW_URL", help="URL of the service.")]
Name = Annotated[str, typer.Argument(metavar="DATASET", help="Name of the dataset.")]
BinsFile = Annotated[Path, option("Schema file with the bins of each column asked about.")]


@dataclass(frozen=True)
class Asking:
    """Options of a question: what its answer may cost, and where both go."""

    epsilon: Annotated[str, number("Privacy loss of the answer, such as 1, 0.1 or 1/10.")]
    delta: Annotated[str, number("Above 0: Gaussian noise in the answer.")] = "0"
    url: Url = None
    public_key: Annotated[Path | None, option("The curator's curator.pub.", envvar="HEDGEROW_PUBLIC_KEY")] = None
    to: Annotated[Path | None, option("Write the question to this file, and send nothing.")] = None
    output: Annotated[Path | None, option("For the answer; its receipt beside it.", "-o", "--output")] = None

    def send(self, dataset: str, kind: str, **question: Any) -> None:
        amounts = {"epsilon": str(exact(self.epsilon, "epsilon")), "delta": str(exact(self.delta, "delta"))}
        question = amounts | question
        if self.to is not None:
            if self.output is not None or (self.url is not None and "HEDGEROW_URL" not in os.environ):
                raise ArgumentError("leave --url and --output out: with --to nothing is sent.")
            check_output(self.to)
            todo = f"; carry it to the curator, who answers with: hedgerow answer {self.to}"
            write_said(self.to, QuestionFile.new(dataset, kind, question).text, todo)
            return
        check_outputs(answer_files(self.output))
        with _connected(self.url, self.public_key) as curator:
            found = curator[dataset]
            question["epoch"] = found.epoch
            with _kept(self.url, QuestionFile.new(dataset, kind, question)) as key:
                data = found.answer(kind, question, key)
                write_answer(kind, data, found.receipts[-1] if found.receipts else "", self.output)
        if self.public_key is None:
            say("nobody checked who sent this answer: give the curator's key as --public-key curator.pub", err=True)


@app.command("datasets")
def datasets(url: Url = None) -> None:
    """List the datasets that you may ask about."""
    with _connected(url) as curator:
        for name in curator.datasets:
            say(name)


@app.command("describe")
def describe(
    dataset: Name,
    url: Url = None,
    output: Annotated[Path | None, option("File for the schema, YAML or JSON.", "-o", "--output")] = None,
) -> None:
    """Show what is public of a dataset: its schema, and when answers leave. Free."""
    check_outputs([output])
    with _connected(url) as curator:
        found = curator[dataset]
        say(f"{found.schema}\n\ntiming: {found.description['timing']}")
        if output is not None:
            found.schema.save(output)


@app.command("budget")
def budget(dataset: Name, url: Url = None) -> None:
    """Show your cap, what was charged to it, and what is left, exactly. Free."""
    with _connected(url) as curator:
        for name, amounts in curator[dataset].budget.items():
            if isinstance(amounts, dict):
                say(f"{name}: {amounts['spent']} of {amounts['cap']} spent, {amounts['left']} left")


@app.command("fit")
@with_groups
def fit(
    dataset: Name,
    *,
    model: Annotated[str, option("rule-list, tree or scorecard.")] = "rule-list",
    attribute: Annotated[list[str] | None, option("Use this attribute alone. Repeatable.")] = None,
    given: Annotated[list[str] | None, option("A parameter. Repeatable.", "--set", metavar="NAME=VALUE")] = None,
    class_weight: Annotated[list[str] | None, option("Cost of errors: CLASS=5. Repeatable.", metavar="RULE")] = None,
    costs: Annotated[Path | None, option("YAML or JSON file of costs; the manual has one.")] = None,
    asking: Asking,
) -> None:
    """Have a private model learned at the curator's.

    [bold]Example[/bold]: hedgerow ask fit patients --model tree --epsilon 1/2 --set max_depth=3 -o tree.json
    """
    values = named_values("--set", given, "NAME=VALUE", "name")
    parameters = {name: _value(text) for name, text in values.items()}
    weights = named_values("--class-weight", class_weight, "CLASS=NUMBER", "class")
    parameters |= {"class_weight": {name: _value(text) for name, text in weights.items()}} if weights else {}
    parameters |= {} if costs is None else {"costs": by_text(cost_lines(costs))}
    attributes = {"attributes": list(attribute)} if attribute else {}
    asking.send(dataset, "fits", model=model, parameters=parameters, **attributes)


@app.command("marginals")
@with_groups
def marginals(
    dataset: Name,
    *,
    bins: BinsFile,
    by: Annotated[str, option("rows, classes, or levels of a number.")] = "rows",
    asking: Asking,
) -> None:
    """Ask how many rows are in each bin, or of each class; of a number, the sums of levels in each bin."""
    asking.send(dataset, "marginals", bins=_bins(bins), by=by)


@app.command("errors")
@with_groups
def errors(
    dataset: Name,
    *,
    bins: BinsFile,
    hypothesis: Annotated[Path | None, option("Model file: whose errors.")] = None,
    always: Annotated[str | None, option("Or the class that is always predicted.")] = None,
    asking: Asking,
) -> None:
    """Ask how many rows of each bin a model gets wrong, and how many it gets right."""
    if (hypothesis is None) == (always is None):
        raise ArgumentError("give either --hypothesis FILE or --always CLASS.")
    asked = Always(always) if hypothesis is None else load_model(hypothesis)
    asking.send(dataset, "error-marginals", bins=_bins(bins), hypothesis=hypothesis_data(asked))


@contextmanager
def _kept(url: str | None, asked: QuestionFile) -> Generator[str]:
    """Yield a question's key, which is on disk until the block has ended well: that of an interrupted one, if any."""
    named = digest(json.dumps([url, asked.dataset, asked.kind, asked.question], sort_keys=True))
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(home) / "hedgerow" / "asked" / f"{named}.json"
    if path.exists():
        asked = QuestionFile.read(path)
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, asked.text)
    try:
        yield asked.key
    except BaseException as error:
        if getattr(error, "kind", None) in SETTLED:
            path.unlink(missing_ok=True)
        elif getattr(error, "charged", None) is not False:
            say(f"the question is kept in {path}: the same command asks again at no further charge", err=True)
        raise
    path.unlink(missing_ok=True)


def answer_files(output: Path | None) -> Sequence[Path]:
    return () if output is None else (output, output.with_name(f"{output.name}.receipt"))


def write_answer(kind: str, body: bytes, receipt: str, output: Path | None) -> None:
    """Write an answer, a model as its own file, and its receipt beside it; without a file, print it."""
    text = body.decode()
    if kind == "fits":
        text = json.dumps(json.loads(body)["model"], indent=1, ensure_ascii=False) + "\n"
    if output is None:
        say(text, newline=False)
        return
    try:
        for path, content in zip(answer_files(output), (text, f"{receipt}\n"), strict=True):
            if content.strip():
                write_said(path, content)
    except BaseException:
        for path in answer_files(output):  # the same command is refused where one of them is
            path.unlink(missing_ok=True)
        raise


def _connected(url: str | None, public_key: Path | None = None) -> RemoteCurator:
    key = os.environ.get("HEDGEROW_KEY", "")
    if url is None or not key:
        raise ArgumentError("give --url, or set $HEDGEROW_URL; and set $HEDGEROW_KEY to your API key.")
    return connect(url, key=key, public_key=None if public_key is None else read_text(public_key))


def _bins(path: Path) -> Any:
    return Schema.load(path).to_dict()["attributes"]


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text
