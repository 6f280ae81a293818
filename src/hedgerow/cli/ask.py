"""`hedgerow ask`: ask a service a question, or write the question to a file for its curator."""

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
from hedgerow.cli.output import check_output, check_outputs, say, write_file
from hedgerow.cli.predictions import cost_lines
from hedgerow.client.connect import RemoteCurator, connect
from hedgerow.client.http import SETTLED
from hedgerow.client.question_files import QuestionFile
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.models.decisions import by_text
from hedgerow.models.files import load_model
from hedgerow.oracle import Always
from hedgerow.privacy.amounts import exact, positive
from hedgerow.schema import Schema

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Ask a service a question about its private tables. The API key is read from $HEDGEROW_KEY.",
    epilog="Without network access, write the question to a file with --to question.json and send the file to the "
    "curator, who runs `hedgerow answer`. If a command is interrupted, run it again: it gets the same answer without a "
    "further charge. For this, a question is stored in $XDG_STATE_HOME/hedgerow/asked (by default "
    "~/.local/state/hedgerow/asked) until its answer is written.",
)
Url = Annotated[str | None, typer.Option(envvar="HEDGEROW_URL", help="URL of the service.", metavar="URL")]
Name = Annotated[str, typer.Argument(metavar="DATASET", help="Name of the dataset.")]
BinsFile = Annotated[Path, option("Schema file with the columns to count and their bins.")]


@dataclass(frozen=True)
class Asking:
    """Options of a question: its cost, the service, and files."""

    epsilon: Annotated[str, number("Privacy loss of the answer, such as 1, 0.1 or 1/10.")]
    delta: Annotated[str, number("Delta of the answer; above 0, Gaussian noise may be used.")] = "0"
    url: Url = None
    public_key: Annotated[
        Path | None,
        option("Public key of the service, curator.pub, to check the answer.", envvar="HEDGEROW_PUBLIC_KEY"),
    ] = None
    to: Annotated[Path | None, option("Write the question to this file in place of sending it.")] = None
    output: Annotated[
        Path | None,
        option(
            "Answer file to write, with its receipt as FILE.receipt.  \\[default: print the answer]", "-o", "--output"
        ),
    ] = None

    def send(self, dataset: str, kind: str, **question: Any) -> None:
        amounts = {"epsilon": str(positive(self.epsilon, "epsilon")), "delta": str(exact(self.delta, "delta"))}
        question = amounts | question
        if self.to is not None:
            if self.output is not None or (self.url is not None and "HEDGEROW_URL" not in os.environ):
                raise ArgumentError("--to writes a question without sending it; leave --url and --output out.")
            check_output(self.to)
            todo = f"; send it to the curator, who answers with: hedgerow answer {self.to}"
            write_file(self.to, QuestionFile.new(dataset, kind, question).text, todo)
            return
        check_outputs(answer_files(self.output))
        with _connected(self.url, self.public_key) as curator:
            remote = curator[dataset]
            question["epoch"] = remote.epoch
            with _stored(self.url, QuestionFile.new(dataset, kind, question)) as key:
                data = remote.answer(kind, question, key)
                write_answer(kind, data, remote.receipts[-1] if remote.receipts else "", self.output)
        if self.public_key is None:
            say("warning: the sender of this answer was not verified; add --public-key curator.pub", err=True)


@app.command("datasets")
def datasets(url: Url = None) -> None:
    """List the datasets that you may ask about.

    [bold]Example[/bold]: hedgerow ask datasets --url https://curator.example
    """
    with _connected(url) as curator:
        for name in curator.datasets:
            say(name)


@app.command("describe")
def describe(
    dataset: Name,
    url: Url = None,
    output: Annotated[Path | None, option("Schema file to write (.yaml or .json).", "-o", "--output")] = None,
) -> None:
    """Print the schema of a dataset and when its answers are sent. Charges no budget.

    [bold]Example[/bold]: hedgerow ask describe patients -o patients.yaml
    """
    check_outputs([output])
    with _connected(url) as curator:
        remote = curator[dataset]
        say(f"{remote.schema}\n\ntiming: {remote.description['timing']}")
        if output is not None:
            remote.schema.save(output)


@app.command("budget")
def budget(dataset: Name, url: Url = None) -> None:
    """Print your cap, the charges to it, and the remaining budget, as exact amounts. Charges no budget.

    [bold]Example[/bold]: hedgerow ask budget patients
    """
    with _connected(url) as curator:
        for name, amounts in curator[dataset].budget.items():
            if isinstance(amounts, dict):
                say(f"{name}: {amounts['spent']} of {amounts['cap']} spent, {amounts['left']} left")


@app.command("fit")
@with_groups
def fit(
    dataset: Name,
    *,
    model: Annotated[str, option("Model: rule-list, tree or scorecard.", metavar="KIND")] = "rule-list",
    attribute: Annotated[
        list[str] | None, option("Use only this attribute. Repeatable.  \\[default: all]", metavar="NAME")
    ] = None,
    given: Annotated[
        list[str] | None,
        option("Parameter of the learner, such as max_depth=3. Repeatable.", "--set", metavar="NAME=VALUE"),
    ] = None,
    class_weight: Annotated[
        list[str] | None, option("Cost of errors on a class, such as yes=5. Repeatable.", metavar="RULE")
    ] = None,
    costs: Annotated[
        Path | None, option("File (YAML or JSON) with a cost for each pair of actual and predicted class.")
    ] = None,
    asking: Asking,
) -> None:
    """Have the service learn a private model.

    [bold]Example[/bold]: hedgerow ask fit patients --model tree --epsilon 1/2 --set max_depth=3 -o tree.json
    """
    values = named_values("--set", given, "NAME=VALUE")
    parameters = {name: _value(text) for name, text in values.items()}
    weights = named_values("--class-weight", class_weight, "CLASS=NUMBER")
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
    by: Annotated[
        str, option("What to count in each bin: rows, classes, or levels (sums of a number).", metavar="NAME")
    ] = "rows",
    asking: Asking,
) -> None:
    """Ask for noisy counts of the rows in each bin, in total or by class; of a number, for noisy sums.

    [bold]Example[/bold]: hedgerow ask marginals patients --bins bins.yaml --by classes --epsilon 1/2 -o counts.json
    """
    asking.send(dataset, "marginals", bins=_bins(bins), by=by)


@app.command("errors")
@with_groups
def errors(
    dataset: Name,
    *,
    bins: BinsFile,
    hypothesis: Annotated[Path | None, option("Model file whose errors are counted.")] = None,
    always: Annotated[
        str | None, option("Class of a constant prediction, in place of a model.", metavar="CLASS")
    ] = None,
    asking: Asking,
) -> None:
    """Ask for noisy counts of the rows in each bin that a model predicts correctly and incorrectly.

    [bold]Example[/bold]: hedgerow ask errors patients --bins bins.yaml --hypothesis tree.json --epsilon 1/2
    """
    if (hypothesis is None) == (always is None):
        raise ArgumentError("expected either --hypothesis FILE or --always CLASS.")
    model = Always(always) if hypothesis is None else load_model(hypothesis)
    asking.send(dataset, "error-marginals", bins=_bins(bins), hypothesis=hypothesis_data(model))


@contextmanager
def _stored(url: str | None, question: QuestionFile) -> Generator[str]:
    """Yield the idempotency key of a question, which is on disk until the block succeeds.

    If the same question was interrupted before, its key is used again.
    """
    name = digest(json.dumps([url, question.dataset, question.kind, question.question], sort_keys=True))
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(home) / "hedgerow" / "asked" / f"{name}.json"
    if path.exists():
        question = QuestionFile.read(path)
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, question.text)
    try:
        yield question.key
    except BaseException as error:
        if getattr(error, "kind", None) in SETTLED:
            path.unlink(missing_ok=True)
        elif getattr(error, "charged", None) is not False:
            say(
                f"the question is stored in {path}; run the command again to get its answer without a further charge",
                err=True,
            )
        raise
    path.unlink(missing_ok=True)


def answer_files(output: Path | None) -> Sequence[Path]:
    return () if output is None else (output, output.with_name(f"{output.name}.receipt"))


def write_answer(kind: str, body: bytes, receipt: str, output: Path | None) -> None:
    """Write an answer (of a fit, the model) and its receipt, or print the answer if there is no output file."""
    text = body.decode()
    if kind == "fits":
        text = json.dumps(json.loads(body)["model"], indent=1, ensure_ascii=False) + "\n"
    if output is None:
        say(text, newline=False)
        return
    try:
        for path, content in zip(answer_files(output), (text, f"{receipt}\n"), strict=True):
            if content.strip():
                write_file(path, content)
    except BaseException:
        for path in answer_files(output):  # an existing file would stop the same command
            path.unlink(missing_ok=True)
        raise


def _connected(url: str | None, public_key: Path | None = None) -> RemoteCurator:
    key = os.environ.get("HEDGEROW_KEY", "")
    missing = ([] if url else ["--url or $HEDGEROW_URL"]) + ([] if key else ["$HEDGEROW_KEY"])
    if url is None or not key:
        raise ArgumentError(f"missing {' and '.join(missing)}: the URL of the service and your API key are required.")
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
