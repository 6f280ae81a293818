"""`hedgerow verify`: check the receipt of an answer or a model, without network access."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import option
from hedgerow.cli.output import say
from hedgerow.cli.serve import require_service
from hedgerow.client.question_files import QuestionFile

app = typer.Typer(add_completion=False)


@app.command("verify")
def verify(
    answer: Annotated[Path, typer.Argument(metavar="ANSWER", help="Model file or other answer of a service.")],
    key: Annotated[Path, option("Public key of the service, curator.pub.")],
    receipt: Annotated[Path | None, option("Receipt file.  \\[default: ANSWER.receipt]")] = None,
    question: Annotated[
        Path | None, option("Question file from `hedgerow ask --to`; checks that this is its answer.")
    ] = None,
    ledger: Annotated[
        Path | None, option("Exported ledger or your own entries; checks that the charge is recorded.")
    ] = None,
) -> None:
    """Verify the signature and the charge of an answer or model of a service.

    Works without network access, from the receipt that came with the answer.

    [bold]Examples[/bold]:

    hedgerow verify tree.json --key curator.pub

    hedgerow verify answer.json --key curator.pub --question question.json
    """
    require_service()
    from hedgerow.service.receipts import Receipt, read_receipt

    path = receipt or answer.with_name(f"{answer.name}.receipt")
    verified = Receipt.verify(read_receipt(path), read_receipt(key))
    verified.check(answer)
    if question is not None:
        QuestionFile.read(question).check_receipt(verified.statement)
    lines = [f"signed by the holder of {key}", str(verified)]
    if ledger is not None:
        is_whole = verified.check_ledger(ledger)
        completeness = "a complete chain" if is_whole else "a part of the ledger; only an auditor can check the rest"
        lines.append(f"{ledger} contains the entry of this charge, and is {completeness}")
    say("\n".join(lines))
