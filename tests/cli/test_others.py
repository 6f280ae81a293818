"""Models of others on the command line."""

import json
import re

from tests.cli.table import a_scorecard, a_tree

RULES = "if age <= 40 then no (no 40, yes 10)\nelse yes (no 20, yes 30)\n"


def test_rules_of_others_are_shown_applied_audited_and_reported_on(folder, run):
    (folder / "rules.txt").write_text(RULES)
    assert "if age <= 40 then no" in run("show", "rules.txt")[1]
    assert re.search(r"guarantee +none", run("show", "rules.txt")[1])
    code, out, _ = run("predict", "rules.txt", "data.csv", "--json")
    assert code == 0
    assert {line["prediction"] for line in json.loads(out)} == {"no", "yes"}
    for command in ("audit", "report"):
        more = ("-o", "r.html") if command == "report" else ()
        code, _, error = run(command, "rules.txt", *more)
        assert code != 0
        assert "add --schema FILE" in error
        code, _, error = run(command, "rules.txt", "--schema", "schema.yaml", *more)
        assert code == 0, error
    assert "no guarantee" in (folder / "r.html").read_text().lower()


def test_rows_in_the_comments_of_a_file_are_named_by_audit_and_report(folder, run):
    (folder / "rules.txt").write_text(f"# 97, yes\n# 41, no\n{RULES}")
    code, out, error = run("audit", "rules.txt", "--schema", "schema.yaml")
    assert code == 0, error
    assert "The file also contains 2 rows of data (comment, line 1)." in out
    result = json.loads(run("audit", "rules.txt", "--schema", "schema.yaml", "--json")[1])["contents"]
    assert result == [{"kind": "rows", "place": "comment", "amount": 2, "line": 1}]
    code, _, error = run("report", "rules.txt", "--schema", "schema.yaml", "-o", "r.json")
    assert code == 0, error
    public, board = (json.loads((folder / name).read_text()) for name in ("r.json", "r.PRIVATE.json"))
    (of_public,), (of_board,) = (
        [item for item in sheet["checks"] if item["id"] == "file-rows"] for sheet in (public, board)
    )
    assert (of_public["status"], of_board["status"], of_board["value"]) == ("not_run", "fail", 2)
    assert "2 rows of data" in of_board["sentence"]


def test_an_audit_requires_rows_if_a_leaf_has_no_counts(folder, run):
    (folder / "rules.txt").write_text("if age <= 40 then no (no 3, yes 1)\nelse yes\n")
    code, _, error = run("audit", "rules.txt", "--schema", "schema.yaml")
    assert (code, "no released counts; add --data FILE" in error) == (2, True)
    assert run("audit", "rules.txt", "--schema", "schema.yaml", "--data", "data.csv")[0] == 0


def test_rules_of_others_are_evaluated_for_the_unit_of_the_schema(folder, run):
    (folder / "rules.txt").write_text(RULES)
    told = ("evaluate", "rules.txt", "data.csv", "--epsilon", "1", "--by", "sex")
    code, _, error = run(*told)
    assert (code, (folder / "evaluation.json").exists()) == (2, False)
    assert "add --schema FILE" in error
    code, out, error = run(*told, "--schema", "schema.yaml")
    assert code == 0, error
    assert "sex = F: about" in out
    assert "no guarantee holds" in out
    assert "epsilon-differential privacy with epsilon = 1" in out


def test_a_file_of_hedgerow_takes_no_schema(folder, run):
    a_tree(folder, old={"label": "no"}, young={"label": "yes"})
    assert "--schema is not allowed here" in run("show", "tree.json", "--schema", "schema.yaml")[2]


def test_auditing_a_scorecard_without_numbers_of_rows_needs_the_rows(folder, run):
    a_scorecard(folder)
    assert "add --data FILE" in run("audit", "card.json")[2]
    assert "For a scorecard" in " ".join(run("audit", "--help")[1].split())
