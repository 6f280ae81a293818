"""Who called a fit; what scikit-learn's callers learn is in `test_encoder`, of pipelines in `test_estimators`."""

import warnings
from pathlib import Path

import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline as ScikitLearnPipeline

import hedgerow as hr
from hedgerow.errors import PreparationWarning, SeededNoiseWarning
from hedgerow.learn.callers import unaccounted
from tests.learn.tables import SCHEMA, people

INSIDE = """
def fit(estimator, rows):
    return estimator.fit(rows, rows["risk"])
"""


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_warning_names_the_first_line_outside_of_the_package(depth):
    """However many of the package's own functions are in between."""
    namespace = {}
    exec(compile(INSIDE, str(Path(hr.__file__).parent / "between.py"), "exec"), namespace)
    estimator, rows = hr.PrivateTreeClassifier(1, max_depth=1, schema=SCHEMA, random_state=0), people(60)

    def call(level, between=namespace["fit"]):
        return between(estimator, rows) if level == 0 else call(level - 1)

    with pytest.warns(SeededNoiseWarning) as said:
        call(depth) if depth else estimator.fit(rows, rows["risk"])
    assert [item.filename for item in said] == [__file__]


def cross_validate(estimator, rows):
    """Fit an estimator, in a function of the name of one of scikit-learn's."""
    return estimator.fit(rows, rows["risk"])


class Pipeline:
    """A class of the name of one of scikit-learn's, whose variables nobody reads."""

    @property
    def steps(self):
        pytest.fail("its steps were read")

    def fit(self, estimator, rows):
        return cross_validate(estimator, rows)


def test_functions_and_classes_of_others_are_not_taken_for_scikit_learns():
    estimator = hr.PrivateTreeClassifier(1, max_depth=1, schema=SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PreparationWarning)
        Pipeline().fit(estimator, people(60))
    assert unaccounted() == []


class PipelineOfOthers(ScikitLearnPipeline):
    """A pipeline that fits its steps by itself, as that of imbalanced-learn does."""

    def fit(self, X, y):
        self.steps[-1][1].fit(X, y)
        return self


class SearchOfOthers(GridSearchCV):
    def fit(self, X, y):
        self.estimator.fit(X, y)
        return self


class StackOfOthers(StackingClassifier):
    def fit(self, X, y):
        self.estimators[0][1].fit(X, y)
        return self


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda tree: PipelineOfOthers([("impute", SimpleImputer()), ("tree", tree)]), "an earlier step"),
        (lambda tree: SearchOfOthers(tree, {}), "a search selects"),
        (lambda tree: StackOfOthers([("tree", tree)]), "another estimator learns"),
    ],
)
def test_classes_derived_from_scikit_learns_are_recognised_by_their_bases(make, reason):
    rows = people(60)
    with pytest.warns(PreparationWarning, match=reason):
        make(hr.PrivateTreeClassifier(1, max_depth=1, schema=SCHEMA)).fit(rows, rows["risk"])
