import numpy as np
import pandas as pd
import pytest

from studies.pdr.tables import means, ratio_curves, tables


def test_errors_are_over_seeds_of_which_each_counts_once():
    records = pd.DataFrame(
        {
            "kind": "trees",
            "learner": "private",
            "epsilon": [1.0, 1.0, 1.0, np.inf],
            "seed": [0, 0, 1, 0],
            "draw": [0, 1, 0, 0],
            "uncertainty": [0.1, 0.3, 0.8, 0.5],
        }
    )
    item, other = means(records).to_dict("records")
    assert (item["seeds"], item["uncertainty"]) == (2, pytest.approx(0.5))
    assert item["uncertainty se"] == pytest.approx(np.std([0.2, 0.8], ddof=1) / np.sqrt(2))
    assert (other["seeds"], other["uncertainty"]) == (1, 0.5)
    assert np.isnan(other["uncertainty se"])


def test_curves_are_mean_shares_below_each_ratio_of_the_largest_models():
    records = pd.DataFrame(
        [
            ("optimal", 0, 0.01, 2, "0.5:25 0.75:75"),
            ("optimal", 1, 0.01, 2, "0.625:50 0.75:50"),
            ("greedy", 0, 0.01, 2, "0.9:10"),
            ("optimal", 0, 0.01, 1, "0.1:10"),
            ("optimal", 0, 0.02, 2, "0.1:10"),
        ],
        columns=["learner", "seed", "support", "depth", "exposure"],
    )
    curve = ratio_curves(records)
    optimal = curve[curve["learner"] == "optimal"]
    assert optimal["ratio"].tolist() == [0.5, 0.625, 0.75, 0.9]
    assert optimal["rows"].tolist() == [0.125, 0.375, 1.0, 1.0]
    assert optimal["rows se"].iloc[0] == pytest.approx(np.std([0.25, 0], ddof=1) / np.sqrt(2))
    assert curve.loc[curve["learner"] == "greedy", "rows"].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("compas", "holds"), [(3, "yes"), (9, "no")])
def test_the_datasets_are_compared_by_how_much_greedy_trees_are_larger(tmp_path, compas, holds):
    for name, size in (("adult", 5), ("compas", compas)):
        rows = [("optimal", 0.01, 2, 1, 2.0), ("greedy", 0.01, 2, 1, size), ("optimal", 0.01, 3, 1, 2.0)]
        rows.append(("greedy", 0.01, 3, 1, size))
        part = pd.DataFrame(rows, columns=["learner", "support", "depth", "seeds", "size"])
        part = part.assign(accuracy=0.5, uncertainty=0.5, certified=1, **{"uncertainty se": 0.0})
        part.to_csv(tmp_path / f"trees-{name}.csv", index=False)
        claim = {"statement": "s", "where": "w", "holds": "h", "found": "f"}
        pd.DataFrame([claim]).to_csv(tmp_path / f"trees-{name}-claims.csv", index=False)
    text = tables(tmp_path)
    assert f"by less on COMPAS than on Adult | App. A, Fig. 5a | {holds} | adult +3.00 splits" in text
    assert f"compas {compas - 2:+.2f} splits" in text
    assert text.count("| s | w | adult | h | f |") == text.count("| s | w | compas | h | f |") == 1


def test_an_empty_folder_has_no_tables(tmp_path):
    assert tables(tmp_path) == ""
