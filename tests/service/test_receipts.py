"""Receipts hold for one answer, one key and one ledger, and for nothing that was changed."""

import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from hedgerow.errors import LedgerError, ModelFormatError, ReceiptError
from hedgerow.service.receipts import Receipt, Signer, read_receipt
from hedgerow.service.requests import Request
from tests.service.wards import ANA, MARGINALS, curator_of, question

TREE = question(epsilon="1/2", model="tree", parameters={"max_depth": 1})


@pytest.fixture
def made(tmp_path):
    """A marginal's answer and a model, with the ledger and the signer."""
    signer = Signer.new()
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", signer=signer) as curator:
        answers = [
            curator.ask(Request(ANA, "wards", *what)) for what in (("marginals", "a", MARGINALS), ("fits", "b", TREE))
        ]
        (tmp_path / "ledger.jsonl").write_text("".join(f"{entry.line}\n" for entry in curator.ledger.entries()))
    (tmp_path / "answer.json").write_bytes(answers[0].body)
    (tmp_path / "model.json").write_text(json.dumps(json.loads(answers[1].body)["model"], indent=2))
    return tmp_path, signer, [Receipt.verify(answer.receipt, signer.public) for answer in answers], answers


def test_an_answer_and_a_model_are_those_of_their_receipts(made):
    folder, _, (answer, model), _ = made
    answer.check(folder / "answer.json")
    model.check(folder / "model.json")
    for receipt, name in ((model, "answer.json"), (answer, "model.json")):
        with pytest.raises(ReceiptError, match="not the answer or model"):
            receipt.check(folder / name)
    for receipt in (answer, model):
        assert receipt.check_ledger(folder / "ledger.jsonl")


def test_a_changed_answer_model_or_ledger_is_found(made):
    folder, _, (answer, model), _ = made
    (folder / "answer.json").write_text((folder / "answer.json").read_text().replace('"version":2', '"version":1'))
    with pytest.raises(ReceiptError):
        answer.check(folder / "answer.json")
    (folder / "model.json").write_text((folder / "model.json").read_text().replace('"no"', '"on"'))
    with pytest.raises(ModelFormatError, match="digest"):
        model.check(folder / "model.json")
    lines = (folder / "ledger.jsonl").read_text().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_text("".join(lines[:1]))
    with pytest.raises(ReceiptError, match="does not contain the entry"):
        answer.check_ledger(folder / "ledger.jsonl")
    (folder / "ledger.jsonl").write_text("".join([*lines[:1], *lines[2:]]))
    with pytest.raises(LedgerError):
        answer.check_ledger(folder / "ledger.jsonl")


def test_a_receipt_of_another_key_or_of_another_kind_is_refused(made):
    _, signer, (answer, _), answers = made
    head, body, signature = answers[0].receipt.split(".")
    other = Signer.new()
    for text in (
        other.sign(answer.statement),
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{answers[1].receipt.split('.')[1]}.{signature}",
        jwt.encode(answer.statement, "", algorithm="none"),
        jwt.encode(answer.statement, signer.public.strip().replace("PUBLIC", "SECRET"), algorithm="HS256"),
        "",
        "a.b.c",
    ):
        with pytest.raises(ReceiptError, match="not signed with this key"):
            Receipt.verify(text, signer.public)
    for text in (jwt.encode(answer.statement, signer.key, algorithm="EdDSA"), signer.sign({"dataset": "wards"})):
        with pytest.raises(ReceiptError, match=r"not a receipt of hedgerow|hedgerow receipt"):
            Receipt.verify(text, signer.public)
    earlier = {name: value for name, value in answer.statement.items() if name not in ("query", "unit")}
    with pytest.raises(ReceiptError, match=r"not a receipt of this version\. Verify receipts of 0\.2\.0 with hedgerow"):
        Receipt.verify(signer.sign(earlier), signer.public)
    with pytest.raises(ReceiptError, match="public Ed25519"):
        Receipt.verify(answers[0].receipt, "no key")


def test_a_signer_is_kept_in_a_file_that_its_owner_alone_reads(tmp_path):
    signer, path = Signer.new(), tmp_path / "curator.key"
    signer.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_receipt(tmp_path / "curator.pub") == signer.public
    assert Receipt.verify(Signer.load(path).sign(_statement()), signer.public).statement == _statement()
    with pytest.raises(OSError, match="exists"):
        signer.save(path)
    other = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "other.key").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "text.key").write_text("no key")
    for wrong in ("other.key", "text.key"):
        with pytest.raises(ReceiptError, match="private Ed25519"):
            Signer.load(tmp_path / wrong)


def _statement():
    names = ("dataset", "epoch", "analyst", "request", "entry", "question", "answer", "query", "unit")
    return dict.fromkeys((*names, "epsilon", "delta", "rho"), "x")


def test_receipts_of_a_replaced_key_verify_with_the_public_key_file(made):
    folder, signer, _, (answer, _) = made
    signer.save(folder / "curator.key")
    new, newest = Signer.new(), Signer.new()
    new.prepare(folder / "curator.key").replace(folder / "curator.key")
    newest.prepare(folder / "curator.key").replace(folder / "curator.key")
    public = read_receipt(folder / "curator.pub")
    assert public == newest.public + new.public + signer.public
    assert (folder / "curator.key").stat().st_mode & 0o777 == 0o600
    assert Signer.load(folder / "curator.key").name == newest.name
    assert not (folder / "curator.new").exists()
    for text in (answer.receipt, newest.sign(_statement())):
        assert Receipt.verify(text, public).statement
    assert jwt.get_unverified_header(answer.receipt)["kid"] == signer.name
    unnamed = jwt.encode(_statement(), signer.key, algorithm="EdDSA", headers={"typ": "hedgerow-receipt"})
    assert Receipt.verify(unnamed, public).statement  # of before keys had names
    with pytest.raises(ReceiptError, match="signed"):
        Receipt.verify(answer.receipt, newest.public)
    with pytest.raises(ReceiptError, match="public Ed25519"):
        Receipt.verify(answer.receipt, public + "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")


def test_an_analysts_own_entries_verify_as_a_part_of_a_ledger(made, tmp_path):
    folder, _, receipts, _ = made
    with curator_of(f"sqlite:///{folder}/ledger.db") as curator:
        lines = [f"{line}\n" for line in curator.entries(ANA)[0]]
    (tmp_path / "own.jsonl").write_text("".join(lines))
    for receipt in receipts:
        assert not receipt.check_ledger(tmp_path / "own.jsonl")
    (tmp_path / "own.jsonl").write_text("".join(lines).replace('"epsilon":"1/2"', '"epsilon":"1/8"'))
    with pytest.raises(ReceiptError, match="entry"):
        receipts[1].check_ledger(tmp_path / "own.jsonl")
    for text in (
        "[]\n",
        "{}\n",
        '{"hash":1}\n',
        "x\n",
        lines[0].replace('"charge":{', '"charge":[{').replace("},", "}],", 1),
    ):
        (tmp_path / "own.jsonl").write_text(text)
        with pytest.raises((LedgerError, ReceiptError)):
            receipts[0].check_ledger(tmp_path / "own.jsonl")
