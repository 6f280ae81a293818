"""`hedgerow answer`: answer a question that an analyst sent as a file."""

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
    question: Annotated[Path, typer.Argument(metavar="QUESTION", help="Question file from `hedgerow ask --to`.")],
    analyst: Annotated[str, option("Analyst whose cap is charged; you confirm that the question is theirs.")],
    output: Annotated[
        Path, option("Answer file to write; the receipt gets the same name with .receipt.", "--output", "-o")
    ],
    config: ConfigFile = CONFIG,
) -> None:
    """Answer a question that an analyst sent as a file, with the same ledger, caps and receipts.

    Answering the same file again returns the same answer without a further charge.

    [bold]Example[/bold]: hedgerow answer question.json --analyst ana -o answer.json
    """
    require_service()
    from hedgerow.service.config import Config
    from hedgerow.service.forms import check_kind
    from hedgerow.service.requests import Caller, Request

    check_outputs(answer_files(output), question, config)
    received = QuestionFile.read(question)
    kind: Any = check_kind(received.kind)
    curator = Config.read(config).open()
    with curator.ledger:
        request = Request(Caller(analyst, "analyst"), received.dataset, kind, received.key, received.body)
        reply = curator.ask(request)
    try:
        write_answer(received.kind, reply.body, reply.receipt, output)
    except BaseException:
        say("the answer was charged and is stored in the ledger; run the command again to write it, free", err=True)
        raise
