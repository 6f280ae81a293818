"""`hedgerow schema wizard`."""

import fcntl
import io
import os
import pty
import subprocess
import sys
import termios

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Number, Ordered, OrderedLabel, Real, Schema


@pytest.fixture
def wizard(folder, run, monkeypatch):
    """Run the wizard on typed answers, one a line; rows must not be read."""
    (folder / "rows.csv").write_text("id,age,ward,dose,is_in,ill\n\0SECRET not even CSV")

    def call(answers, *words, data="rows.csv"):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
        return run("schema", "wizard", data, "-o", "w.yaml", *words)

    return call


def test_questions_make_a_schema_without_a_row(wizard):
    answers = [
        *("", "no, yes"),
        *("",),  # id: skip is proposed
        *("", "", "", "5", "n", "", "at admission"),  # age, as proposed
        *("", 'surgery, "ear, nose", 3', "y", "bin", ""),
        *("", "0", "2.5", "0.5, 1", "", "c", ""),
        *("", "", "", ""),  # a flag
    ]
    code, out, err = wizard(answers, "--target", "ill")
    assert code == 0, err
    expected = Schema(
        {
            "age": Integer(0, 120, 5, description="at admission", unit="years"),
            "ward": Categorical(("surgery", "ear, nose", 3), missing="bin", outside="bin"),
            "dose": Real(0, 2.5, (0.5, 1), outside="clip"),
            "is_in": Boolean(),
        },
        Label("ill", ("no", "yes")),
    )
    assert hr.Schema.load("w.yaml") == expected
    assert out == f"{expected}\n"
    assert "SECRET" not in out + err


def test_answers_that_make_no_attribute_are_asked_for_again(wizard):
    tries = ["what", "real", "5", "x", "3", "9", "log", "log 2", "maybe", "n", "no", "e", ""]
    code, _, err = wizard(["c", "a", "a, b", "s", *tries, "s", "s", "s"], "--target", "ill")
    assert code == 0, err
    assert hr.Schema.load("w.yaml") == Schema({"age": Real(5, 9, "log 2")}, Label("ill", ("a", "b")))
    assert "expected at least two classes" in err
    assert "key 'high': expected a finite number, got 'x'. Please answer again." in err
    assert "key 'high': high must be larger than low" in err
    assert "expected boolean, categorical, date, integer, ordered, real, unit, skip" in err
    assert "such as 5 or log 5; got 'log'" in err
    assert "expected yes, no" in err
    assert "expected error, clip, bin" in err


def test_the_words_of_a_boolean_are_asked_for(wizard, folder):
    (folder / "rows.csv").write_text("smoker,alive\n")
    answers = ["b", "yes, Y", "yes", "no, N", "y", "", "b", "1", "2", "n", ""]
    code, _, err = wizard(answers)
    assert code == 0, err
    smoker = Boolean(true_values=("yes", "Y"), false_values=("no", "N"), missing="bin")
    assert hr.Schema.load("w.yaml") == Schema({"smoker": smoker, "alive": Boolean(true_values=(1,), false_values=(2,))})
    assert "Please answer again." in err


def test_words_for_one_truth_alone_are_asked_for_again(wizard, folder):
    (folder / "rows.csv").write_text("smoker\n")
    code, _, err = wizard(["b", "yes", "", "no", "n", ""])
    assert code == 0, err
    assert hr.Schema.load("w.yaml") == Schema({"smoker": Boolean(true_values=("yes",), false_values=("no",))})
    assert err.count("Please answer again.") == 1


def test_dates_are_asked_for_by_their_periods(wizard, folder):
    (folder / "rows.csv").write_text("dob,ill\n")
    born = ["", "1900-01-01", "2010-12-31", "10 years", "d.m", "%d.%m.%Y", "n", "", ""]
    code, _, err = wizard(
        ["", "a, b", "", "1900", "1900-01-01", "2010-12-31", "", "", "n", "", "", *born], "--target", "ill"
    )
    assert code == 0, err
    assert hr.Schema.load("w.yaml")["dob"] == Date("1900-01-01", "2010-12-31", "10 years")
    assert "expected a date such as 1980-12-31, got 1900. Please answer again." in err


def test_a_number_or_an_order_is_predicted(wizard, folder):
    (folder / "rows.csv").write_text("a,age\n")
    code, _, err = wizard(["", "", "90", "b", "", "n", ""], "--target", "age")
    assert code == 0, err
    assert hr.Schema.load("w.yaml").label == Number("age", 0, 90)
    answers = ["ordered", "good, bad", "ordered", "low, medium, high", "n", "", ""]
    code, _, err = wizard(["number", "5", "1", "<", "<", *answers], "--target", "a", "--force")
    assert code == 0, err
    schema = hr.Schema.load("w.yaml")
    assert schema.label == OrderedLabel("a", ("good", "bad"))
    assert schema["age"] == Ordered(("low", "medium", "high"))
    assert "got low=5 and high=1. Please answer again." in err


def test_an_end_of_answers_writes_nothing(wizard, folder):
    assert wizard(["s"])[0] == 1
    assert not (folder / "w.yaml").exists()
    assert "column 'sick'" in wizard([], "--target", "sick")[2]
    assert "at least one attribute" in wizard(["s"] * 5)[2]


def test_types_and_catalogues_are_proposed(wizard, folder):
    pq.write_table(pa.table({"age": pa.array([7]), "t": pa.array([None], pa.duration("s"))}), folder / "r.parquet")
    code, _, err = wizard([""] * 8, data="r.parquet")
    assert code == 0, err
    assert hr.Schema.load("w.yaml")["age"] == Integer(0, 120, missing="bin", unit="years", source="type of the column")
    with duckdb.connect(str(folder / "c.duckdb")) as connection:
        connection.execute("CREATE VIEW v AS SELECT error('a row was read')::ENUM('a', 'b') AS e")
    code, _, err = wizard([""] * 5, "--force", data="duckdb:///c.duckdb::v")
    assert code == 0, err
    assert hr.Schema.load("w.yaml")["e"].values == ("a", "b")


def test_public_rows_are_proposed_where_they_are_given(wizard, folder):
    pd.DataFrame({"age": range(100), "ward": ["a", "b"] * 50}).to_csv(folder / "public.csv", index=False)
    answers = [*[""] * 8, *[""] * 5, "s", "s", "s"]
    code, _, err = wizard(answers, "--public-sample", "public.csv")
    assert code == 0, err
    assert hr.Schema.load("w.yaml") == Schema.from_public(pd.read_csv(folder / "public.csv"))


def test_a_person_column_is_proposed_as_unit_and_an_identifier_omitted(wizard, folder):
    (folder / "rows.csv").write_text("patient_id,record_id,customer,age\n")
    code, _, err = wizard(["", "0", "3", "", "u", "s", *[""] * 7])
    assert code == 0, err
    schema = hr.Schema.load("w.yaml")
    assert (schema.unit, schema.names) == (hr.Unit("patient_id", 3), ("age",))
    assert err.count("seems to identify a person") == 2
    assert err.count("seems to be an identifier") == 1
    assert "max_rows must be a whole number >= 1, got 0. Please answer again." in err
    assert "ordered, real, skip" in err  # of one unit only
    pq.write_table(pa.table({"patient_id": pa.array([1]), "age": pa.array([7])}), folder / "r.parquet")
    assert wizard([""] * 9, "--force", data="r.parquet")[0] == 0
    assert hr.Schema.load("w.yaml").unit == hr.Unit("patient_id", 1)


def test_public_rows_show_by_repetition_whose_they_are(wizard):
    who = [f"w{i % 50}" for i in range(200)]
    frame = {"ref": [f"r{i}" for i in range(200)], "who": who, "age": [i % 80 for i in range(200)]}
    pd.DataFrame(frame | {"record_id": range(200)}).to_csv("p.csv", index=False)
    code, _, err = wizard([""] * 11, "--public-sample", "p.csv", data="p.csv")
    assert code == 0, err
    schema = hr.Schema.load("w.yaml")
    assert (schema.unit, schema.names) == (hr.Unit("who", 1), ("age",))


def test_an_answer_can_be_taken_back(wizard, folder):
    (folder / "rows.csv").write_text("a,b\n")
    answers = [
        "<",
        "b",
        "",
        "n",
        "back",
        "back",
        "back",
        "r",
        "0",
        "<",
        "1",
        "2",
        "",
        "n",
        "",
        "of a",
        "<",
        "of a, again",
    ]
    code, _, err = wizard([*answers, "b", "<", "<", "a", "b", "", "n", ""])
    assert code == 0, err
    assert hr.Schema.load("w.yaml") == Schema({"a": Real(1, 2, description="a"), "b": Boolean()})


@pytest.mark.statistics  # kills
def test_a_terminal_that_stops_keeps_its_answers(folder):
    (folder / "rows.csv").write_text("age,flag\n")
    words = [sys.executable, "-m", "hedgerow", "schema", "wizard", "rows.csv", "-o", "w.yaml"]

    def typed(*lines):
        master, slave = pty.openpty()
        with subprocess.Popen(
            words, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_own
        ) as process:
            os.close(slave)
            for line in lines:
                text = b""
                while not text.endswith(b": "):
                    text += process.stderr.read(1)
                os.write(master, line.encode())
            out, err = process.communicate(timeout=60)
            os.close(master)
        return process.returncode, out.decode(), text.decode() + err.decode()

    for lines in (("integer\n", "5\n", "x\n", "\x04"), ("9\n", "\x03")):
        code, _, err = typed(*lines)
        assert code in (1, 130)
        assert "your answers are stored in w.yaml.draft.json" in err
        assert not (folder / "w.yaml").exists()
    code, _, err = typed("\n", "\n", "\n", "\n", "b\n", "\n", "\n", "\n")
    assert code == 0, err
    assert hr.Schema.load("w.yaml") == Schema({"age": Integer(5, 9, unit="years"), "flag": Boolean()})
    assert not (folder / "w.yaml.draft.json").exists()


def test_a_draft_of_other_questions_is_refused(wizard, folder):
    assert wizard(["", "no, yes", "s"], "--target", "ill")[0] == 1
    assert "contains answers to different questions" in wizard([])[2]
    (folder / "w.yaml.draft.json").write_text("[1]")
    assert "contains answers to different questions" in wizard([])[2]


def _own() -> None:
    """Take the terminal as one's own, as a shell gives it."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
