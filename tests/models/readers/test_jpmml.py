"""What is read of PMML predicts what an independent evaluator does, or is refused: random documents, and real files."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import DomainError, ModelFormatError, SchemaError
from hedgerow.models.model import Model
from tests.models.readers.documents import a_case, a_schema
from tests.peers import peer

GOLDEN = Path(__file__).parents[1] / "pmml"
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="the evaluators of PMML need Java"),
    pytest.mark.peers("jpmml_evaluator", "jpype"),
]


def outcomes(model: Model, path: Path, rows: list[dict[str, Any]], target: str) -> Counter[str]:
    """Count the rows by whether both predict the same, or one of them gives no prediction."""
    evaluator, result = peer("jpmml_evaluator").make_evaluator(str(path)).verify(), Counter[str]()
    for row in rows:
        frame = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in row.items()})
        try:
            theirs = evaluator.evaluate(row)[target]
        except Exception:
            theirs = None
        try:
            ours = model.predict(frame)[0]
        except DomainError:
            ours = None
        same = ours == theirs if isinstance(theirs, float) else str(ours) == str(theirs)
        result["refused" if ours is None else "same" if same else f"differ: {row}, {ours}, {theirs}"] += 1
    return result


@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize("size", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_random_documents_are_read_as_the_evaluator_reads_them_or_refused(has_schema, size, tmp_path):
    result, read, path = Counter[str](), 0, tmp_path / "model.pmml"
    for seed in range(size):
        rng = np.random.default_rng([seed, has_schema])
        case = a_case(rng)
        path.write_text(case.text)
        try:
            model = hr.read_model(path, a_schema(rng, case) if has_schema else None)
        except (ModelFormatError, SchemaError):
            continue
        read += 1
        here = outcomes(model, path, case.rows(rng, 30), "y")
        assert not [item for item in here if item.startswith("differ")], (here, case.text)
        result += here
    assert read > size / 4
    assert result["same"] > 0.5 * result.total()


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("sklearn2pmml.pmml", "kind"),
        ("sklearn2pmml_domain.pmml", "kind"),
        ("sklearn2pmml_regression.pmml", "cost"),
        ("nyoka.pmml", "kind"),
    ],
)
def test_pmml_of_scikit_learn_exporters_is_read_as_by_the_evaluator(name, target):
    path, rng = GOLDEN / name, np.random.default_rng(0)
    cuts = [0.31, float(np.float32(0.31)), 0.03, 9.97, float(np.float32(9.97)), 5.415, 7.24]
    rows = [
        {"w": float(w), "age": float(a)}
        for w, a in zip(
            np.concatenate([rng.choice([*cuts, *np.nextafter(cuts, 10)], 150), rng.uniform(-1, 11, 150)]),
            rng.choice([17, 18, 34.5, 37.5, 53.5, 53.500001, 65.5, 75.5, 89, 90], 300),
            strict=True,
        )
    ]
    result = outcomes(hr.read_model(path), path, rows, target)
    assert not [item for item in result if item.startswith("differ")], result
    assert result["same"] > 150


def test_a_scorecard_is_read_as_the_evaluator_reads_it():
    path, departments = GOLDEN / "scorecard.pmml", (None, "marketing", "engineering", "law")
    rows = [{"department": department, "age": age} for department in departments for age in (None, 18, 19, 29, 30)]
    assert outcomes(hr.read_model(path), path, rows, "risk") == {"same": len(rows)}
