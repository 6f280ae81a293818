import numpy as np
import pandas as pd
import pytest

from studies.results import by, markdown, save, summary, write_csv


def test_means_are_those_of_the_runs_of_a_cell():
    runs = pd.DataFrame({"run": [0, 1, 2, 0], "method": ["a", "a", "a", "b"], "epsilon": [1.0] * 4, "x": [1, 2, 6, 5]})
    a, b = summary(runs)
    assert (a["runs"], a["x"], a["x sd"]) == (3, 3.0, pytest.approx(np.sqrt(7)))
    assert a["x se"] == pytest.approx(np.sqrt(7 / 3))
    assert (b["runs"], b["x"]) == (1, 5.0)
    assert np.isnan(b["x se"])


def test_cells_are_grouped_in_order_of_first_occurrence():
    cells = [{"method": "b", "x": 1}, {"method": "a", "x": 2}, {"method": "b", "x": 3}]
    assert by(cells, "method") == {"b": [cells[0], cells[2]], "a": [cells[1]]}


def test_a_table_has_six_digits_and_lines_of_any_system(tmp_path):
    write_csv(pd.DataFrame({"x": [1 / 3, 2.0], "name": ["é", "b"]}), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == "x,name\n0.333333,é\n2,b\n".encode()


def test_markdown_has_a_line_a_row():
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| -- | -- |\n| 1 | 2 |"


def test_a_figure_is_the_same_bytes_twice(tmp_path):
    from matplotlib.figure import Figure

    for name in ("one", "two"):
        figure = Figure()
        figure.add_subplot().plot([0, 1], [1, 0])
        save(figure, tmp_path / name)
    for ending in (".png", ".svg"):
        assert (tmp_path / "one").with_suffix(ending).read_bytes() == (tmp_path / "two").with_suffix(
            ending
        ).read_bytes()
