"""`hedgerow ask`, `answer` and `verify`: over a network and by hand, one answer, one charge, one receipt."""

import errno
import json
from contextlib import suppress
from fractions import Fraction

import pytest
import yaml

from hedgerow.boundary.durable import write_whole
from hedgerow.client.connect import RemoteDataset
from hedgerow.client.question_files import QuestionFile
from hedgerow.errors import UnreadableError
from hedgerow.models import load_model
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.receipts import Signer
from tests.service.wards import BINS, SCHEMA, table
from tests.service.web import running

SIGNER = Signer.new()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A curator's folder, and the analyst's too, as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    frame, labels = table()
    frame.assign(ill=labels).to_csv("wards.csv", index=False)
    SCHEMA.save("wards.yaml")
    (tmp_path / "bins.yaml").write_text(yaml.safe_dump({"attributes": BINS}))
    dataset = {"table": "wards.csv", "schema": "wards.yaml", "cap": {"epsilon": 3}, "analysts": {"ana": {"epsilon": 2}}}
    config = {"ledger": "ledger.db", "signing_key": "curator.key", "datasets": {"wards": dataset}}
    (tmp_path / "curator.yaml").write_text(yaml.safe_dump(config))
    SIGNER.save("curator.key")
    Ledger("sqlite:///ledger.db", new_ledger=True).close()
    return tmp_path


@pytest.fixture
def service(tmp_path_factory, monkeypatch):
    with running(tmp_path_factory.mktemp("served"), signer=SIGNER) as opened:
        monkeypatch.setenv("HEDGEROW_URL", opened.url)
        monkeypatch.setenv("HEDGEROW_KEY", opened.tokens["ana"])
        yield opened


@pytest.mark.usefixtures("folder", "service")
def test_over_a_network(run):
    assert run("ask", "datasets")[1] == "wards\n"
    code, out, _ = run("ask", "describe", "wards", "-o", "public.yaml")
    assert (code, "timing: open" in out) == (0, True)
    assert run("ask", "budget", "wards")[1].startswith("epsilon: 0 of 2 spent, 2 left")
    words = ("ask", "fit", "wards", "--model", "tree", "--epsilon", "1/2", "--set", "max_depth=1", "-o", "tree.json")
    assert run(*words)[0] == 0
    assert load_model("tree.json").privacy.epsilon == 0.5
    code, out, _ = run("verify", "tree.json", "--key", "curator.pub")
    assert (code, "charged epsilon 1/2" in out) == (0, True)
    for more, checked in (((), False), (("--public-key", "curator.pub"), True)):
        code, _, err = run("ask", "marginals", "wards", "--epsilon", "1/100", "--bins", "bins.yaml", *more)
        assert (code, "not verified" in err) == (0, not checked)
    Signer.new().save("other.key")
    words_of_another = ("ask", "marginals", "wards", "--epsilon", "1/100", "--bins", "bins.yaml")
    code, out, err = run(*words_of_another, "--public-key", "other.pub")
    assert (code != 0, out, "receipt" in err) == (True, "", True)
    assert run(*words)[0] == 2  # the file is there already: nothing is asked
    for more in (("--hypothesis", "tree.json"), ("--always", "yes")):
        words = ("ask", "errors", "wards", "--epsilon", "0.1", "--bins", "bins.yaml", *more)
        code, out, _ = run(*words)
        assert (code, len(json.loads(out)["wrong"]["age"])) == (0, 4)
    assert run("ask", "marginals", "wards", "--epsilon", "0.3", "--bins", "bins.yaml", "-o", "rows.json")[0] == 0
    assert run("verify", "rows.json", "--key", "curator.pub")[0] == 0
    assert run("ask", "budget", "wards")[1].startswith("epsilon: 103/100 of 2 spent")
    code, _, err = run("ask", "fit", "wards", "--epsilon", "5")
    assert (code, "remaining: 97/100. Nothing was charged" in err) == (2, True)


def test_costs_are_asked_for_by_the_names_of_classes(folder, run):
    (folder / "costs.yaml").write_text('"yes": {"no": 50}\n"no": {"yes": 1}\n')
    (folder / "lines.yaml").write_text('"yes": 50\n')
    words = ("ask", "fit", "wards", "--model", "tree", "--epsilon", "1/2", "--set", "max_depth=0", "--to")
    assert run(*words, "weights.json", "--class-weight", "yes=50")[0] == 0
    assert run(*words, "costs.json", "--costs", "costs.yaml")[0] == 0
    for name in ("weights", "costs"):
        assert run("answer", f"{name}.json", "--analyst", "ana", "-o", f"{name}-tree.json")[0] == 0
        assert {leaf.label for leaf in load_model(f"{name}-tree.json").leaves} == {"yes"}
    code, _, err = run(*words, "other.json", "--costs", "lines.yaml")
    assert (code, "{class: {predicted class: cost}}" in err) == (2, True)


@pytest.mark.parametrize("lost", ["interrupted", "a full disk", "before it is sent"])
def test_an_interrupted_question_is_asked_again_without_another_charge(folder, service, run, monkeypatch, lost):
    words = ("ask", "marginals", "wards", "--epsilon", "1/4", "--bins", "bins.yaml", "-o", "rows.json")
    sent = []

    def send(dataset, kind, question, key):
        (kept,) = (folder / "state/hedgerow/asked").iterdir()
        assert QuestionFile.read(kept).key == key
        sent.append(key)
        if lost != "before it is sent":
            answered(dataset, kind, question, key)
        raise OSError(errno.ENOSPC, "no space") if lost == "a full disk" else KeyboardInterrupt

    answered = RemoteDataset.answer
    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(RemoteDataset, "answer", send)
        run(*words)
    assert not (folder / "rows.json").exists()
    assert run(*words)[0] == 0
    assert (len(json.loads((folder / "rows.json").read_bytes())["rows"]["age"]), len(sent)) == (4, 1)
    assert service.curator.ledger.account("wards").spent == Fraction(1, 4)
    assert list((folder / "state/hedgerow/asked").iterdir()) == []
    assert run(*words[:-1], "more.json")[0] == 0  # asked anew once the first was answered
    assert service.curator.ledger.account("wards").spent == Fraction(1, 2)


@pytest.mark.parametrize("failing", ["rows.json", "rows.json.receipt"])
@pytest.mark.parametrize("by_hand", [False, True])
def test_an_answer_that_is_not_written_whole_is_had_by_the_same_command(
    folder, service, run, monkeypatch, failing, by_hand
):
    """With a receipt that failed the answer stood, and the same command was refused: it already exists."""
    question = ("ask", "marginals", "wards", "--epsilon", "1/4", "--bins", "bins.yaml")
    words = (*question, "-o", "rows.json")
    if by_hand:
        assert run(*question, "--to", "q.json")[0] == 0
        words = ("answer", "q.json", "--analyst", "ana", "-o", "rows.json")

    def full(path, text, mode=None):
        if path.name == failing:
            raise OSError(errno.ENOSPC, "No space left on device", path.name)
        write_whole(path, text, mode)

    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.cli.output.write_whole", full)
        code, out, err = run(*words)
    assert (code, out, "run the command again" in err) == (2, "", True)
    assert not list(folder.glob("rows.json*"))
    assert run(*words)[0] == 0
    if by_hand:
        assert run("ledger", "export", "ledger.db", "-o", "ledger.jsonl")[0] == 0
        entries = map(json.loads, (folder / "ledger.jsonl").read_text().splitlines())
        assert [entry["kind"] for entry in entries].count("reserved") == 1
    else:
        assert service.curator.ledger.account("wards").spent == Fraction(1, 4)


def test_by_hand(folder, run):
    ask = ("ask", "fit", "wards", "--model", "tree", "--epsilon", "1/2", "--attribute", "age", "--to", "question.json")
    assert run(*ask)[0] == 0
    for number in (1, 2):
        assert run("answer", "question.json", "--analyst", "ana", "-o", f"tree{number}.json")[0] == 0
    assert (folder / "tree1.json").read_bytes() == (folder / "tree2.json").read_bytes()
    assert (folder / "tree1.json.receipt").read_bytes() == (folder / "tree2.json.receipt").read_bytes()
    assert run("ledger", "export", "ledger.db", "-o", "ledger.jsonl")[0] == 0
    assert run("verify", "tree1.json", "--key", "curator.pub", "--ledger", "ledger.jsonl")[0] == 0
    assert run("verify", "tree1.json", "--key", "curator.pub", "--question", "question.json")[0] == 0
    assert run(*ask[:5], "--epsilon", "1/4", "--to", "other.json")[0] == 0
    code, _, err = run("verify", "tree1.json", "--key", "curator.pub", "--question", "other.json")
    assert (code, "a different question" in err) == (2, True)
    (folder / "ledger.jsonl").write_text("")
    assert run("verify", "tree1.json", "--key", "curator.pub", "--ledger", "ledger.jsonl")[0] == 2
    (folder / "tree1.json").write_text("{}")
    code, _, err = run("verify", "tree1.json", "--key", "curator.pub")
    assert (code, "is not the answer or model" in err) == (2, True)
    code, _, err = run("answer", "question.json", "--analyst", "eve", "-o", "none.json")
    assert (code, "you may ask about" in err) == (2, True)
    assert not (folder / "none.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("datasets",), "HEDGEROW_KEY"),
        (("fit", "wards", "--epsilon", "-1", "--to", "q.json"), "epsilon"),
        (("fit", "wards", "--epsilon", "1", "--set", "max_depth", "--to", "q.json"), "--set NAME=VALUE"),
        (("fit", "wards", "--epsilon", "1", "--to", "q.json", "-o", "m.json"), "leave --url and --output out"),
        (
            ("errors", "wards", "--epsilon", "1", "--bins", "bins.yaml", "--to", "q.json"),
            "--hypothesis FILE or --always",
        ),
        (("marginals", "wards", "--epsilon", "1", "--bins", "none.yaml", "--to", "q.json"), "No such file"),
        (("fit", "wards", "--epsilon", "1", "--to", "curator.yaml"), "already exists"),
    ],
)
def test_what_cannot_be_asked_is_told_and_nothing_is_written(folder, run, monkeypatch, words, said):
    monkeypatch.delenv("HEDGEROW_KEY", raising=False)
    code, out, err = run("ask", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not (folder / "q.json").exists()


def test_an_invalid_question_file_is_refused(folder, run):
    good = QuestionFile.new("wards", "fits", {"epsilon": "1"})
    for change in ({"kind": "shell"}, {"more": 1}, {"version": 2}, {"key": 5}):
        (folder / "q.json").write_text(json.dumps(json.loads(good.text) | change))
        code, out, err = run("answer", "q.json", "--analyst", "ana", "-o", "x.json")
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
    for text in ("[]", json.dumps(json.loads(good.text) | {"question": []})):
        (folder / "q.json").write_text(text)
        with pytest.raises(UnreadableError, match=r"q\.json"):
            QuestionFile.read("q.json")
    (folder / "q.json").write_text(good.text)
    assert QuestionFile.read("q.json") == good


@pytest.mark.usefixtures("folder")
def test_parameters_mean_what_is_written(run):
    given = ["max_depth=2", "release_counts=true", "stop_probability=0.2", "search=exact"]
    words = [word for item in given for word in ("--set", item)]
    assert run("ask", "fit", "wards", "--epsilon", "1", *words, "--to", "q.json")[0] == 0
    result = QuestionFile.read("q.json").question["parameters"]
    assert result == {"max_depth": 2, "release_counts": True, "stop_probability": 0.2, "search": "exact"}
