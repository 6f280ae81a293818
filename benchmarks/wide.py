"""Models for wide tables.

AUROC on held-out rows, with its standard error. Synthetic tables have 20,000 rows and the stated number of booleans,
five of them relevant; the oracle knows these five. Digits are scikit-learn's: 64 pixels in five bins, labelled eight or
not. Docstrings are paragraphs of four Python packages with 1,000 words, labelled SciPy or not. *k* is the number of
attributes that the default uses; 3, 5, 10 and 20 are values of `max_attributes`, and fewer attributes are used if there
are few rows relative to the noise. *with δ* is the default with δ = 10⁻⁵ instead of pure ε; "few" has 5,000 rows of
1,000 booleans. Seconds are the time of a default fit of a counted table; the file also has the peak memory of the
process.

{wide}

Default trees ([results/wide_trees.csv](results/wide_trees.csv)): accuracy and seconds.

{wide_trees}

`python wide.py 50 200 digits docstrings trees` runs a selection of the tables. The words are the most frequent words of
the whole corpus, and treated as public. Real tables have ten and five splits.
"""

import ast
import re
import resource
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy  # noqa: F401 -- its docstrings are read
from measure import RESULTS, report
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import hedgerow as hr

ROWS, TEST, INFORMATIVE, WEIGHT, RUNS = 20_000, 10_000, 5, 0.77, 5
WIDTHS = (50, 200, 500, 1000, 2000, 10_000)
FITS = 5  # of each split of the digits
WORDS, LEAST_WORDS = 1000, 8  # of the table of docstrings, and of a paragraph
EPSILONS = (1.0, 0.1)
NUMBERS = (None, 3, 5, 10, 20)
DELTA, WITH_DELTA = "0.00001", "default, with delta"
FEW_ROWS, FEW_EPSILON = 5000, 0.3  # of 1,000 booleans
ALL_UP_TO, FIXED_UP_TO = 500, 2000  # attributes: of what takes long
TREE_WIDTHS, SEARCHED_UP_TO = (50, 200, 1000, 10_000), 1000
LABEL = hr.Label("y", (0, 1))


def main():
    chosen = sys.argv[1:] or [*map(str, WIDTHS), "few", "digits", "docstrings", "trees"]
    if "trees" in chosen:
        chosen.remove("trees")
        report("wide_trees", [row for d in TREE_WIDTHS for row in trees(d)])
    others = {"few": few, "digits": digits, "docstrings": texts}
    result = [row for name in chosen for row in (others[name]() if name in others else generated(int(name)))]
    file = RESULTS / "wide.csv"
    before = pd.read_csv(file, dtype=str).to_dict("records") if sys.argv[1:] and file.exists() else []
    report("wide", [row for row in before if row["table"] not in chosen] + result)


def generated(d):
    """Yield the scores on tables of d booleans."""
    tables = [table(d, seed) for seed in range(RUNS)]
    numbers = [*NUMBERS, d] if d <= ALL_UP_TO else NUMBERS if d <= FIXED_UP_TO else NUMBERS[:1]
    for epsilon in EPSILONS:
        for most in numbers:
            yield scores(d, d, epsilon, learner(most, d), tables, most)
        if d <= FIXED_UP_TO:
            yield scores(d, d, epsilon, WITH_DELTA, tables, None, DELTA)
        yield scores(d, d, epsilon, "oracle", [oracle(*item) for item in tables], INFORMATIVE)


def few():
    """Yield the scores on tables of few rows."""
    tables = [table(1000, seed, FEW_ROWS) for seed in range(RUNS)]
    for called, delta in (("default", None), (WITH_DELTA, DELTA)):
        yield scores("few", 1000, FEW_EPSILON, called, tables, None, delta)


def table(d, seed, n=ROWS):
    """Return a tally, and other rows with their labels."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n + TEST, d), dtype=np.float32) < 0.5).astype(np.uint8)
    log_odds = WEIGHT * (2.0 * X[:, :INFORMATIVE] - 1).sum(axis=1)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-log_odds))).astype(int)
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(d)}, LABEL)
    return hr.Tally(schema, X[:n], np.eye(2, dtype=int)[y[:n]]), X[n:], y[n:]


def oracle(tally, X, y):
    """Return the same table with nothing but the attributes that matter."""
    bins, counts = tally.bins_and_counts()
    schema = hr.Schema(dict(tally.schema.attributes[:INFORMATIVE]), LABEL)
    return hr.Tally(schema, bins[:, :INFORMATIVE], counts), X[:, :INFORMATIVE], y


def digits():
    """Yield the scores on the pixels of handwritten digits."""
    data = load_digits()
    pixels = pd.DataFrame(data.data.astype(int), columns=[f"x{i}" for i in range(64)])
    schema = hr.Schema({name: hr.Integer(0, 16, cuts=[0, 3, 7, 11, 15]) for name in pixels}, LABEL)
    encoded = np.column_stack(list(schema.encode(hr.tables.frames.Table.of(pixels)).values()))
    labels = (data.target == 8).astype(int)
    tables = []
    for split in range(10):
        X, X_test, y, y_test = train_test_split(encoded, labels, test_size=0.2, random_state=split)
        tables.append((hr.Tally(schema, X, np.eye(2, dtype=int)[y]), X_test, y_test))
    for epsilon in EPSILONS:
        for most in (*NUMBERS, 64):
            yield scores("digits", 64, epsilon, learner(most, 64), tables * FITS, most)
        yield scores("digits", 64, epsilon, WITH_DELTA, tables * FITS, None, DELTA)


def texts():
    """Yield the scores on the paragraphs of docstrings by their words."""
    packages = ("numpy", "scipy", "sklearn", "pandas")
    result = sorted({paragraph for package in packages for paragraph in paragraphs(package)})
    common = Counter(word for _, words in result for word in words)
    vocabulary = sorted(common, key=lambda word: (-common[word], word))[:WORDS]
    places = {word: place for place, word in enumerate(vocabulary)}
    encoded = np.zeros((len(result), WORDS), dtype=np.uint8)
    for row, (_, words) in zip(encoded, result, strict=True):
        row[[places[word] for word in words if word in places]] = 1
    labels = np.array([package == "scipy" for package, _ in result]).astype(int)
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(WORDS)}, LABEL)
    tables = []
    for split in range(RUNS):
        X, X_test, y, y_test = train_test_split(encoded, labels, test_size=0.2, random_state=split)
        tables.append((hr.Tally(schema, X, np.eye(2, dtype=int)[y]), X_test, y_test))
    for epsilon in EPSILONS:
        for most in NUMBERS:
            yield scores("docstrings", WORDS, epsilon, learner(most, WORDS), tables, most)
        yield scores("docstrings", WORDS, epsilon, WITH_DELTA, tables, None, DELTA)


def paragraphs(package):
    """Yield the package and the words of each paragraph of its docstrings, tests left out, each once."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for file in sorted(Path(sys.modules[package].__file__).parent.rglob("*.py")):
        if "tests" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            text = (ast.get_docstring(node) or "") if isinstance(node, kinds) else ""
            for paragraph in text.split("\n\n"):
                words = tuple(sorted(set(re.findall("[a-z]{2,}", paragraph.lower()))))
                if len(words) >= LEAST_WORDS:
                    yield package, words


def trees(d):
    """Yield how often trees are right on tables of d booleans."""
    tables = [table(d, seed) for seed in range(RUNS)]
    knowing = [oracle(*item) for item in tables]
    for epsilon in EPSILONS:
        make = partial(hr.PrivateTreeClassifier, epsilon)
        yield right(d, epsilon, "default", make(), tables)
        if d <= SEARCHED_UP_TO:
            yield right(d, epsilon, "all attributes", make(search="exact"), tables)
        yield right(d, epsilon, "oracle", make(), knowing)


def right(d, epsilon, called, estimator, tables):
    """Return the mean over tables of how often one fit of each is right."""
    result, seconds = [], []
    for tally, X, y in tables:
        start = time.perf_counter()
        fitted = estimator.fit_tally(tally)
        seconds.append(time.perf_counter() - start)
        frame = pd.DataFrame(X.astype(bool), columns=list(tally.schema))
        result.append(np.mean(fitted.predict(frame) == y))
    return {
        "attributes": d,
        "epsilon": epsilon,
        "learner": called,
        "accuracy": f"{np.mean(result):.3f}",
        "standard error": f"{np.std(result, ddof=1) / len(result) ** 0.5:.3f}",
        "seconds": f"{np.median(seconds):.1f}",
    }


def learner(most, d):
    """Return how a fit is named."""
    return "default" if most is None else "all" if most == d else f"max_attributes={most}"


def scores(name, d, epsilon, called, tables, most, delta=None):
    """Return the means over tables of one fit of each."""
    result, seconds, used = [], [], []
    for tally, X, y in tables:
        start = time.perf_counter()
        fitted = hr.PrivateScorecardClassifier(epsilon, max_attributes=most, delta=delta).fit_tally(tally)
        seconds.append(time.perf_counter() - start)
        result.append(roc_auc_score(y, totals(fitted.scorecard_, X)))
        queries = [charge.query for charge in fitted.privacy_.charges]
        chosen = [query["of"] for query in queries if query.code in ("attribute_choice", "attribute_choices")]
        used.append(chosen[0] if chosen else d)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "table": name,
        "attributes": d,
        "epsilon": epsilon,
        "learner": called,
        "AUROC": f"{np.mean(result):.3f}",
        "standard error": f"{np.std(result, ddof=1) / len(result) ** 0.5:.3f}",
        "used": f"{np.mean(used):.1f}" if called != "oracle" else INFORMATIVE,
        "seconds": f"{np.mean(seconds):.2f}",
        "MB": f"{memory:.0f}",
    }


def totals(card, X):
    """Return the total of each row of bins."""
    result = np.zeros(len(X))
    for part in card.parts:
        result += np.array([points for (points,) in part.points])[X[:, int(part.attribute[1:])]]
    return result


if __name__ == "__main__":
    main()
