"""`hedgerow answer`: answer a question that was carried to the curator as a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.ask import answer_files, write_answer
from hedgerow.cli.options import option
from hedgerow.cli.output import check_outputs, say
from hedgerow.cli.serve import CONFIG, ConfigFile, require_service
from hedgerow.client.question_files import QuestionFile

app = typer.Typer(add_completion=False)


@app.command("answer")
def answer(
    question: Annotated[Path, typer.Argument(help="The question, as `hedgerow ask --to` wrote it.")],
    analyst: Annotated[str, option("Who asks: whose cap is charged. You vouch for it.")],
    output: Annotated[Path, option("File for the answer; its receipt beside it.", "--output", "-o")],
    config: ConfigFile = CONFIG,
) -> None:
    """Answer a question that was carried to you as a file: same ledger, same caps, same receipts.

    The same file, answered again, gives the same answer, at no further charge.

    [bold]Example[/bold]: hedgerow answer question.json --analyst ana -o answer.json
    """
    require_service()
    from hedgerow.service.config import Config
    from hedgerow.service.forms import check_kind
    from hedgerow.service.requests import Caller, Request

    check_outputs(answer_files(output), question, config)
    asked = QuestionFile.read(question)
    kind: Any = check_kind(asked.kind)
    curator = Config.read(config).open()
    with curator.ledger:
        found = curator.ask(Request(Caller(analyst, "analyst"), asked.dataset, kind, asked.key, asked.body))
    try:
        write_answer(asked.kind, found.body, found.receipt, output)
    except BaseException:
        say(f"the answer is charged and kept: the same {question} gives it again at no further charge", err=True)
        raise
