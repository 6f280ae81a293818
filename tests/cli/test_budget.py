"""`hedgerow budget`, and budgets that other commands charge."""

import json

from hedgerow.privacy.budget_file import FileBudget
from tests.cli.table import FIT, GOOD, SSRL
from tests.privacy.rewriting import edit, sha


def test_a_budget_file_is_charged_with_delta(folder, run):
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "1e-6")
    words = (*FIT, *SSRL, "--mechanism", "global-gaussian", "--research", "--budget", "b.json")
    assert run(*words, "--delta", "1e-9")[0] == 0
    charge = json.loads((folder / "b.json").read_text())["entries"][1]
    assert (charge["epsilon"], charge["delta"]) == ("5", "1/1000000000")
    assert "delta=1e-06 was requested" in run(*words, "--delta", "1e-6", "--force")[2]


def test_a_budget_file_counts_runs_and_refuses_when_it_is_spent(folder, run):
    assert run("budget", "new", "b.json", "--epsilon", "1")[0] == 0
    fit = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "0.75", "--budget", "b.json")
    assert run(*fit, "-o", "one.json")[0] == 0
    code, _, err = run(*fit, "-o", "two.json")
    assert code == 2
    assert "epsilon=0.25 left" in err
    assert err.endswith("Request less, or use a new budget if you may spend more.\n")
    assert not (folder / "two.json").exists()
    assert "0.75 of 1 spent" in run("budget", "show", "b.json")[1]
    assert "already exists" in run("budget", "new", "b.json", "--epsilon", "9")[2]


def test_a_bad_row_wastes_no_charge(folder, run):
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    run("budget", "new", "b.json", "--epsilon", "1")
    words = ("fit", "bad.csv", "--schema", "schema.yaml", "--epsilon", "0.25", "--budget", "b.json")
    code, _, err = run(*words)
    assert code == 2
    assert "column 'sex': some values are outside the declared domain" in err
    assert "stays charged" not in err
    assert "0 of 1 spent" in run("budget", "show", "b.json")[1]


def test_a_budget_that_adds_up_rho_takes_more_draws(folder, run):
    assert "rho: 0 of 0.1 spent" in run("budget", "new", "r.json", "--rho", "0.1")[1]
    words = ("budget", "new", "z.json", "--epsilon", "1", "--delta", "1e-6", "--accounting", "zcdp")
    assert "guarantee: epsilon at most 1 at delta 1e-06" in run(*words)[1]
    assert run("budget", "new", "b.json")[2].startswith("error: --epsilon is missing; ")
    fit = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "0.5", "--search", "exact", "--budget", "r.json")
    fit = (*fit, "--no-release-counts")  # the draw alone
    assert [run(*fit, "-o", f"{number}.json")[0] for number in range(4)] == [0, 0, 0, 2]
    assert "rho: 0.0935898" in run("budget", "show", "r.json")[1]  # hardly less than three times 1/32
    assert not (folder / "3.json").exists()


def test_a_fit_records_the_table_and_the_model_digest_but_no_row_data(folder, run):
    run("budget", "new", "b.json", "--epsilon", "9", "--table", "wards of 2025")
    assert run(*FIT, "--epsilon", "1", "--budget", "b.json", "-o", "m.json")[0] == 0
    opened, charged, released = json.loads((folder / "b.json").read_text())["entries"]
    assert (opened["kind"], opened["table"], charged["kind"], charged["table"]) == (
        "opened", "wards of 2025", "charged", "wards of 2025",
    )  # fmt: skip
    assert set(charged) == {"kind", "date", "previous", "table", "query", "epsilon", "delta", "rho"}
    model = json.loads((folder / "m.json").read_text())["digest"]
    assert released == {
        "kind": "released", "charge": 1, "model": model, "date": released["date"], "previous": sha(charged),
    }  # fmt: skip


def test_a_budget_that_cannot_take_the_digest_leaves_the_model(folder, run, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    run("budget", "new", "b.json", "--epsilon", "9")
    monkeypatch.setattr(FileBudget, "add_digest", fail)
    code, _, err = run(*FIT, "--epsilon", "1", "--budget", "b.json", "-o", "m.json")
    assert code == 0
    assert "its digest was not recorded in the budget: [Errno 28] No space left on device" in err
    assert (folder / "m.json").exists()
    assert FileBudget(folder / "b.json").spent == 1


def test_show_prints_the_hash_to_keep_and_finds_a_record_made_anew_by_it(folder, run):
    run("budget", "new", "b.json", "--epsilon", "9")
    FileBudget("b.json").charge(1, purpose="one")
    out = run("budget", "show", "b.json")[1].splitlines()
    kept = json.loads((folder / "b.json").read_text())["head"]
    assert out[-2:] == [
        "2 entries in a hash chain; store the hash of the last entry elsewhere:",
        f"  {kept}",
    ]
    FileBudget("b.json").charge(1, purpose="two")
    assert run("budget", "show", "b.json", "--head", kept)[0] == 0
    edit(folder / "b.json", lambda data: data["entries"].__delitem__(slice(1, None)), rehash=True)
    assert run("budget", "show", "b.json")[1].startswith("epsilon: 0 of 9 spent")  # nothing shows but for the hash
    code, out, err = run("budget", "show", "b.json", "--head", kept)
    assert (code, out) == (2, "")
    assert f"hash {kept[:8]}" in err
    for other in ("", kept[:12], kept.upper() + " "):  # no reason to believe that the record was edited
        code, out, err = run("budget", "show", "b.json", "--head", other)
        assert (code, out) == (2, "")
        assert err.startswith("error: --head must be a hash of 64 hexadecimal digits")


def test_a_budget_of_an_earlier_version_is_refused(folder, run):
    old = {"format": "hedgerow/budget", "version": 2, "entries": [], "head": ""}
    (folder / "b.json").write_text(json.dumps(old))
    code, _, err = run("budget", "show", "b.json")
    assert (code, err.count("\n")) == (2, 1)
    assert "expected version 3 of hedgerow/budget, got 2" in err


def test_an_edited_budget_file_is_refused_and_never_overwritten(folder, run):
    run("budget", "new", "b.json", "--epsilon", "1")
    FileBudget("b.json").charge(1, purpose="one")
    edit(folder / "b.json", lambda data: data["entries"].pop())
    for words in (("budget", "show", "b.json"), (*FIT, "--epsilon", "1", "--budget", "b.json", "-o", "m.json")):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "was edited, removed or inserted. Restore the file from a backup" in err
    assert "is a budget file" in run(*FIT, "--epsilon", "1", "-o", "b.json", "--force")[2]
