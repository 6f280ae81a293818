"""The folder in which commands are typed."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.table import SCHEMA


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, n = rng.integers(18, 90, 600), 600
    pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M", "?"], n),
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.random(n).round(3)),
            "ill": np.where(age > 60, "yes", "no"),
        }
    ).to_csv("data.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path
