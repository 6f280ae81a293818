"""`hedgerow plan`: what it prints, draws and refuses; and what `hedgerow fit` says of the rows that it needs."""

import json

import pytest

import hedgerow as hr
from tests.cli.table import FIT

pytestmark = pytest.mark.usefixtures("folder")
PLAN = ("plan", "--schema", "schema.yaml", "--rows", "400")


def test_a_forecast_is_printed_without_any_rows(folder, run):
    (folder / "data.csv").unlink()
    code, out, err = run(*PLAN, "--epsilon", "1")
    assert code == 0
    assert out.strip() == str(hr.plan(hr.Schema.load(folder / "schema.yaml"), 400, 1))
    assert err == ""


def test_without_an_epsilon_the_least_is_told(run):
    code, out, _ = run(*PLAN, "--accuracy-loss", "0.02", "--json")
    assert code == 0
    data = json.loads(out)
    assert min(bound["excess_share"] for bound in data["draws"] if bound["size"] == 2) <= 0.02
    assert data["accuracy_loss"] == 0.02


def test_a_public_table_is_tried_and_a_picture_drawn(folder, run):
    code, out, err = run(*PLAN, "--epsilon", "1", "--public", "data.csv", "--runs", "2", "--plot", "plan.png")
    assert code == 0
    assert "Public table: accuracy (%)" in out
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert "written to plan.png" in err
    assert run(*PLAN, "--epsilon", "1", "--plot", "plan.png")[0] == 2  # it is there


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--rows", "-3"), "--rows must be a whole number >= 1, got -3."),
        (("--epsilon", "much"), "--epsilon must be a number > 0 such as 0.1 or 1/10, got 'much'."),
        (("--runs", "3"), "--runs requires --public"),
        (("--epsilon", "1", "--class-share", "yes"), "--class-share"),
        (("--epsilon", "1", "--class-share", "yes=few"), "expected --class-share CLASS=SHARE"),
        (
            ("--epsilon", "1", "--class-share", "perhaps=0.1"),
            "--class-share: expected a class of the label (no, yes), got 'perhaps'",
        ),
        (("--plot", "plan.txt"), "plan.txt"),
        (("--public", "absent.csv"), "absent.csv"),
        (("--schema", "absent.yaml"), "absent.yaml"),
    ],
)
def test_bad_input_is_an_error_of_one_line(run, words, problem):
    code, out, err = run(*PLAN, *words)
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert problem in line


def test_a_fit_that_needs_many_rows_warns_first(run):
    few = [*FIT]
    few[few.index("5")] = "0.01"
    code, _, err = run(*few)
    assert code == 0
    first, *_ = err.splitlines()
    assert "even the smallest model needs about" in first
    assert "see `hedgerow plan`" in first
    assert "hedgerow plan" not in run(*FIT, "--force")[2]
