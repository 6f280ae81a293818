"""`hedgerow verify`: check the receipt of an answer or a model, without a network."""

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
    answer: Annotated[Path, typer.Argument(help="A model file, or an answer of a curator.")],
    key: Annotated[Path, option("The curator's public key, curator.pub.")],
    receipt: Annotated[Path | None, option("The receipt.  \\[the file's name with .receipt]")] = None,
    question: Annotated[Path | None, option("File of `hedgerow ask --to` that this must answer.")] = None,
    ledger: Annotated[Path | None, option("An export, or your entries, with the charge.")] = None,
) -> None:
    """Check that a curator signed this very answer or model, and what it was charged.

    [bold]Example[/bold]: hedgerow verify tree.json --key curator.pub
    """
    require_service()
    from hedgerow.service.receipts import Receipt, read_receipt

    path = receipt or answer.with_name(f"{answer.name}.receipt")
    found = Receipt.verify(read_receipt(path), read_receipt(key))
    found.check(answer)
    if question is not None:
        QuestionFile.read(question).check_receipt(found.statement)
    more = ""
    if ledger is not None:
        whole = found.check_ledger(ledger)
        told = "a whole chain" if whole else "a part of the ledger; only an auditor can check that nothing is missing"
        more = f"\n{ledger} has the entry that charged this, and is {told}"
    say(f"signed by the holder of {key}\n{found}{more}")
