"""Statements of anonymity: the numbers of the report, and no conclusion that they do not carry."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from math import e, exp

import pytest

import hedgerow as hr
from hedgerow.models import Tree
from hedgerow.privacy.charge import Charge
from hedgerow.report import Appetite, Form, Releases, Report, Statement, file_digests
from hedgerow.report.contents import Section
from hedgerow.report.statement import QUESTIONS
from tests.report.subjects import CARD, SCHEMA, a_table, a_tree, no_guarantee_reason, without_privacy

FILLED_IN = Form(**dict.fromkeys(("purpose", "curator", "unit", "tuning"), "stated"), rows_per_unit=1)
RECORD = Releases((), None, "budget")
HOSTILE = "\"'><script>alert(1)</script>\n2. Which\u202e</style>"
CLAIM = re.compile(r"\b(is|are) (anonymous|anonymised|insignificant|safe)\b", re.IGNORECASE)


def charged(epsilon: float, delta: float = 0) -> Tree:
    return a_tree(replace(CARD, charges=(Charge("all", Fraction(epsilon), Fraction(delta)),)))


def values(part: Section) -> dict[str, object]:
    return {line.key: line.value for line in part.facts}


def test_bounds_follow_from_epsilon():
    statement = Statement.of(Report.of(a_tree(), form=FILLED_IN))
    parameters, queries = values(statement.section("parameters")), values(statement.section("queries"))
    assert parameters["largest_presence_belief"] == pytest.approx(e / (1 + e))
    assert parameters["largest_attribute_belief"] == pytest.approx(e**2 / (1 + e**2))
    assert queries["largest_tpr"] == pytest.approx(0.01 * e)
    answer = statement.section("parameters").answer
    assert "at most 73.2 % sure" in answer  # .73106, rounded up
    assert "at most 88.1 % sure" in answer  # .88080


def test_a_person_with_three_rows_has_three_times_epsilon():
    form = replace(FILLED_IN, rows_per_unit=3)
    statement = Statement.of(Report.of(charged(0.5), form=form))
    assert values(statement.section("parameters"))["epsilon"] == 1.5
    assert values(statement.section("queries"))["largest_tpr"] == pytest.approx(0.01 * exp(1.5))
    assert "for every person in the table" in statement.section("conclusion").answer
    unknown = Statement.of(Report.of(charged(0.5), form=replace(FILLED_IN, rows_per_unit=None)))
    assert values(unknown.section("parameters"))["epsilon"] == 0.5
    assert "k times epsilon" in unknown.section("parameters").answer
    assert "for every row of the table" in unknown.section("conclusion").answer


def test_delta_is_stated_with_the_bounds():
    assert "delta is above 0" in Statement.of(Report.of(charged(1, 1e-6))).section("parameters").answer
    assert "delta is above 0" not in Statement.of(Report.of(charged(1))).section("parameters").answer


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason()), a_tree(), charged(20)])
def test_no_statement_concludes_that_a_model_is_anonymous(model, private):
    statement = Statement.of(Report.of(model, train=a_table(), form=FILLED_IN, releases=RECORD), private=private)
    text = statement.to_text()
    for words in ("show that the likelihood of extraction is insignificant", "Whether it is insignificant, given"):
        text = text.replace(words, "")
    assert not CLAIM.search(text)
    assert "Is the likelihood insignificant for every person?" in text
    data = statement.to_dict()
    assert data["decision"]["is_insignificant"] is None
    assert data["decision"]["controller"] == {"name": None, "date": None}


def test_weak_bounds_are_stated_not_to_suffice():
    def conclusion(model, **given):
        return Statement.of(Report.of(model, **given)).section("conclusion").answer

    assert "do not show that the likelihood of extraction is insignificant" in conclusion(without_privacy())
    for epsilon, is_weak in ((1, False), (3, True), (20, True)):
        assert ("these bounds alone do not show" in conclusion(charged(epsilon))) == is_weak
    lenient = Appetite(strong_epsilon=5)
    assert "do not show" not in conclusion(charged(3), appetite=lenient, form=FILLED_IN)
    many = replace(FILLED_IN, rows_per_unit=4)
    assert "these bounds alone do not show" in conclusion(charged(1), form=many)  # four times epsilon


def test_the_public_statement_does_not_depend_on_rows():
    X, y = a_table()
    rows = Report.of(a_tree(), train=(X, y), test=(X[::2], y[::2]), form=FILLED_IN)
    public = Statement.of(Report.of(a_tree(), form=FILLED_IN)).to_json()
    assert Statement.of(rows).to_json() == public
    assert Statement.of(rows, private=True).to_json() != public


def test_the_public_statement_has_no_number_of_rows():
    few = Report.of(without_privacy(((3, 30), (40, 12), (25, 0))), train=a_table())
    many = Report.of(without_privacy(((300, 30), (40, 12), (25, 99))), train=a_table())
    assert Statement.of(few).to_dict() == Statement.of(many).to_dict()
    assert Statement.of(few, private=True).to_dict() != Statement.of(many, private=True).to_dict()


def test_checks_of_the_rows_are_on_the_private_statement():
    statement = Statement.of(Report.of(without_privacy(), train=a_table()), private=True)
    lines = {line.key: line for line in statement.section("parameters").facts}
    assert lines["pure_leaves"].text.startswith("failed: ")
    assert lines["pure_leaves"].value >= 1
    assert statement.status == "fail"


def test_attacks_are_on_the_private_statement_with_their_intervals():
    X, y = a_table()
    clf = hr.OptimalTreeClassifier(max_depth=1, schema=SCHEMA).fit(X, y)
    attack = hr.audit.lira(clf, X, y, repeats=5, random_state=0)
    report = Report.of(clf, train=(X, y), attacks=attack)
    (grid,) = Statement.of(report, private=True).to_dict()["sections"][5]["tables"]
    columns = [column["id"] for column in grid["columns"]]
    auc = dict(zip(columns, grid["rows"][0], strict=True))
    assert (auc["attack"], auc["measure"], auc["value"], auc["repeats"]) == ("lira", "auc", attack.auc, 5)
    assert (auc["low"], auc["high"], auc["confidence"]) == (*attack.auc_interval, 0.95)
    statuses = values(Statement.of(report, private=True).section("attacks"))
    assert statuses["attack_lira"] in ("pass", "review", "fail", "not_run")
    assert statuses == {key: status for key, status in statuses.items() if key.startswith("attack_")}
    public = Statement.of(report).section("attacks")
    assert (public.grids, "PRIVATE" in public.answer) == ((), True)


def test_a_statement_names_the_digests_of_the_files(tmp_path):
    (tmp_path / "model.json").write_text(a_tree().to_json(), encoding="utf-8")
    (tmp_path / "rows.csv").write_text("age,smoker\n")
    files = file_digests(model=tmp_path / "model.json", training_rows=tmp_path / "rows.csv")
    report = Report.of(a_tree(), train=a_table(), files=files)
    model, rows = (hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("model.json", "rows.csv"))
    public, board = (Statement.of(report, private=private).to_text() for private in (False, True))
    assert (model in public, rows in public, rows in board) == (True, False, True)


@pytest.mark.parametrize("private", [False, True])
def test_programs_read_numbers_and_codes_and_the_same_ids(private):
    for model in (a_tree(), without_privacy()):
        data = Statement.of(Report.of(model, train=a_table()), private=private).to_dict()
        for section in (*data["sections"], data["checklist"]):
            ids = [fact["id"] for fact in section["facts"]]
            assert len(ids) == len(set(ids))
            assert all(re.fullmatch("[a-z0-9_]+", item) for item in ids)
            for fact in section["facts"]:
                assert not isinstance(fact["value"], str) or re.fullmatch("[a-z0-9_.:/-]+", fact["value"])
        statuses = {row[2] for row in data["checklist"]["tables"][0]["rows"]}
        assert statuses <= {"stated", "open", "organisation"}


def answered(report):
    rows = Statement.of(report).to_dict()["checklist"]["tables"][0]["rows"]
    return {question: status for _, question, status, _ in rows}


def test_the_checklist_leaves_open_what_is_not_stated():
    known = answered(Report.of(a_tree(), form=FILLED_IN, releases=RECORD))
    unknown = answered(Report.of(without_privacy()))
    assert tuple(known) == tuple(unknown) == tuple(QUESTIONS)
    organisation = {"side-channels", "access", "collection"}
    for statuses, is_stated in (
        (known, {"loss", "unit", "rows-per-person", "neighbours", "composition", "mechanisms"}),
        (unknown, set()),
    ):
        assert {key for key, status in statuses.items() if status == "organisation"} == organisation
        assert is_stated <= {key for key, status in statuses.items() if status == "stated"}
    assert {key for key, status in unknown.items() if status == "stated"} == {"query-model"}
    assert known["bias"] == known["preprocessing"] == "open"
    assert "[stated] guarantee, ε and δ: ε = 1, δ = 0\n" in Statement.of(Report.of(a_tree())).to_text()


def test_text_from_files_stays_text():
    form = Form(**dict.fromkeys(("title", "purpose", "population", "curator", "unit", "tuning"), HOSTILE))
    statement = Statement.of(Report.of(a_tree(), form=form))
    page, text = statement.to_html(), statement.to_text()
    assert "<script>" not in page
    assert page.count("</style>") == 1
    assert "\u202e" not in page + text
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == [str(number) for number in range(1, 9)]  # no line is added


def test_a_file_is_written_as_its_name_says(tmp_path):
    report = Report.of(a_tree(), train=a_table())
    public, board = (Statement.of(report, private=private) for private in (False, True))
    for ending, text in ((".html", public.to_html()), (".json", public.to_json()), (".txt", public.to_text())):
        public.save(tmp_path / f"s{ending}")
        written = (tmp_path / f"s{ending}").read_bytes()
        assert written.startswith(b"\xef\xbb\xbf") == (ending == ".txt")  # a word processor then reads UTF-8
        assert written.decode("utf-8-sig") == text
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["format"] == "hedgerow/statement"
    board.save(tmp_path / "s.PRIVATE.html")
    for statement, name in ((public, "s.PRIVATE.html"), (board, "s.html"), (public, "s.docx")):
        with pytest.raises(ValueError, match="the name of a"):
            statement.content(name)


def test_the_private_statement_is_marked_and_the_public_one_is_not():
    report = Report.of(a_tree(), train=a_table())
    mark = "PRIVATE: for the board only."
    assert [mark in Statement.of(report, private=private).to_html() for private in (False, True)] == [False, True]
    assert [mark in Statement.of(report, private=private).to_text() for private in (False, True)] == [False, True]
    with pytest.raises(ValueError, match="board's sheet"):
        Statement.of(Report.of(a_tree()), private=True)
