"""A person with many rows, on the command line: --unit and --max-rows, or the schema's unit."""

from dataclasses import replace

import pytest

import hedgerow as hr
from tests.cli.table import FIT
from tests.report.subjects import a_table, without_privacy

UNIT = ("--unit", "patient", "--max-rows", "2")


@pytest.fixture
def visits(folder):
    """The folder's table, four rows a patient."""
    head, *rows = (folder / "data.csv").read_text().splitlines()
    lines = [f"{head},patient", *(f"{row},p{place // 4}" for place, row in enumerate(rows))]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_fit_protects_all_rows_of_a_patient(visits, run):
    run("budget", "new", "budget.json", "--epsilon", "5")
    code, out, _ = run(*FIT, *UNIT, "--budget", "budget.json")
    assert code == 0
    assert (
        "adding or removing any one patient changes the probability of any set of outputs by a factor of at most e^5; "
        "at most 2 of its rows, drawn at random, are used" in out
    )
    model = hr.load_model(visits / "model.json")
    assert (model.privacy.unit, model.schema.unit) == (hr.Unit("patient", 2), hr.Unit("patient", 2))
    (charge,) = hr.privacy.FileBudget("budget.json").charges
    assert (charge.epsilon, charge.unit) == (5, hr.Unit("patient", 2))
    assert run("report", "model.json", "--ledger", "budget.json", "-o", "report.html")[0] == 0
    page = (visits / "report.html").read_text()
    assert "at most 2 of its rows, drawn at random, are used" in page
    assert "All rows of each patient together are protected with epsilon = 5" in page
    assert "that the table contains the rows of a certain patient" in page
    code, out, _ = run("predict", "model.json", "data.csv")  # whose row it is, is not asked
    assert code == 0
    assert run("audit", "model.json", "--data", "data.csv")[0] == 0


def test_a_schema_may_declare_the_unit(visits, run):
    schema = visits / "schema.yaml"
    schema.write_text("unit: {column: patient, max_rows: 2}\n" + schema.read_text())
    assert "patient  unit" in run("schema", "show", "schema.yaml")[1]
    assert "unit" in run("schema", "check", "schema.yaml", "data.csv")[1]
    assert run(*FIT)[0] == 0
    assert hr.load_model(visits / "model.json").privacy.unit == hr.Unit("patient", 2)
    code, _, err = run(*FIT, "--force", "--unit", "patient", "--max-rows", "3")
    assert (code, "differ from the unit" in err) == (2, True)


def test_cut_points_are_learned_for_the_unit(visits, run):
    (visits / "open.yaml").write_text("attributes:\n  age: {kind: integer, low: 0, high: 120, outside: clip}\n")
    code, _, _ = run("schema", "learn", "data.csv", "--schema", "open.yaml", "--epsilon", "3", *UNIT, "-o", "l.yaml")
    assert code == 0
    learned = hr.Schema.load(visits / "l.yaml")
    assert learned.unit == hr.Unit("patient", 2)
    assert {charge.unit for charge in learned.charges} == {hr.Unit("patient", 2)}


@pytest.mark.usefixtures("visits")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--unit", "patient"), "--unit requires --max-rows"),
        (("--max-rows", "2"), "--max-rows requires --unit"),
        (("--unit", "patient", "--max-rows", "0"), "--max-rows must be a whole number >= 1, got 0."),
        (("--unit", "age", "--max-rows", "2"), "cannot also be an attribute or the label"),
        (("--unit", "ill", "--max-rows", "2"), "cannot also be an attribute or the label"),
        (("--unit", "person", "--max-rows", "2"), "column 'person'"),
    ],
)
def test_bad_units_are_an_error_of_one_line(run, words, problem):
    run("budget", "new", "budget.json", "--epsilon", "5")
    code, out, err = run(*FIT, *words, "--budget", "budget.json")
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert problem in line
    assert hr.privacy.FileBudget("budget.json").spent == 0


def test_rows_without_a_patient_cost_nothing(visits, run):
    run("budget", "new", "budget.json", "--epsilon", "5")
    text = (visits / "data.csv").read_text()
    (visits / "data.csv").write_text(text.replace(",p0\n", ",\n", 1))
    code, _, err = run(*FIT, *UNIT, "--budget", "budget.json")
    assert code == 2
    assert "column 'patient': some rows have no value in this column" in err
    assert hr.privacy.FileBudget("budget.json").spent == 0
    assert run("schema", "check", "schema.yaml", "data.csv")[0] == 0  # which declares no unit


def test_a_fit_warns_by_a_columns_name_before_it_charges(visits, run):
    text = (visits / "data.csv").read_text().replace(",patient\n", ",patient_id\n", 1)
    (visits / "data.csv").write_text(text)
    run("budget", "new", "budget.json", "--epsilon", "0.1")
    warning = "warning: the name of column patient_id suggests"
    code, _, err = run(*FIT)
    assert (code, err.count(warning), 'add `unit: {column: "patient_id", max_rows: 1}`' in err) == (0, 1, True)
    code, _, err = run(*FIT, "--force", "--unit", "patient_id", "--max-rows", "1")
    assert (code, warning in err) == (0, False)
    out = run("schema", "check", "schema.yaml", "data.csv")[1]
    assert "patient_id seems to identify a person" in out
    (visits / "data.csv").write_text(text.replace(",patient_id\n", ",who\n", 1))  # by its values alone
    assert "who seems to identify a person" in run("schema", "check", "schema.yaml", "data.csv")[1]
    assert "looks as if" not in run(*FIT, "--force")[2]  # which says nothing of values


def test_a_new_schema_declares_the_unit_and_leaves_identifiers_out(folder, run):
    (folder / "rows.csv").write_text("record_id,patientId,age,ill\n")
    for name, line in (
        ("n.yaml", 'unit: {column: "patientId", max_rows: FILL IN}'),
        ("n.json", '"max_rows": "FILL IN"'),
    ):
        code, _, err = run("schema", "new", "rows.csv", "--target", "ill", "-o", name)
        assert (code, line in (folder / name).read_text()) == (0, True)
        assert "record_id has the name of an identifier and was left out" in err
        assert "key 'unit': max_rows is still marked FILL IN" in run("schema", "show", name)[2]


def test_leaves_are_counted_in_patients(folder, run):
    """Ninety rows, of which thirty are in each of two leaves, four of each patient: eight or nine of them in each."""
    model = without_privacy(((30, 0), (10, 10), (20, 20)))
    replace(model, schema=replace(model.schema, unit=hr.Unit("patient", 2))).save("model.json")
    frame, labels = a_table()
    frame.assign(ill=labels, patient=[f"p{place // 4}" for place in range(90)]).to_csv("data.csv", index=False)
    code, out, _ = run("audit", "model.json", "--data", "data.csv")
    assert (code, "1 of 3 regions has fewer than 10 units (patient)" in out) == (0, True)
    assert run("report", "model.json", "--data", "data.csv", "-o", "report.json")[0] == 0
    board = (folder / "report.PRIVATE.json").read_text()
    assert "1 of 3 leaves has fewer than 10 units (patient)." in board
