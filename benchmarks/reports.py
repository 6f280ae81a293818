"""Pictures of reports.

Pictures of reports on a wide screen, on a narrow screen and printed; docs/report/*.png.

A private rule list, a certified tree and an overfitted tree of scikit-learn on breast cancer, the tree of scikit-learn
learned from labels with a quarter of errors. Needs Chromium, poppler-utils (`pdftoppm`) and Pillow.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.privacy.card import SOFTWARE
from hedgerow.report import Form, PastRelease, Releases

FOLDER = Path(__file__).parents[1] / "docs" / "report"
FORM = Form(
    title="Tumours",
    purpose="To show a report.",
    population="Patients of one hospital",
    curator="The hospital",
    unit="one patient, one row",
    rows_per_unit=1,
    tuning="Parameters were chosen without looking at rows.",
    sensitive=("mean radius",),
    cut_points="from the literature",
    limits="Not for diagnosis.",
)
CHROMIUM = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")
WIDE, NARROW, HEIGHT, SHOWN = 1000, 400, 1300, 620


def main():
    data = hr.datasets.load("breast_cancer")
    train, test = ((data.frame[part], data.labels[part]) for part in (slice(0, 400), slice(400, None)))
    flipped = np.where(train[1] == "benign", "malignant", "benign")
    wrong = pd.Series(np.where(np.random.default_rng(0).random(400) < 0.25, flipped, train[1]), name="diagnosis")
    models = {
        "private-list": (
            hr.PrivateRuleListClassifier(1, schema=data.schema, release_counts=True, random_state=None).fit(*train),
            train,
        ),
        "optimal-tree": (hr.OptimalTreeClassifier(max_depth=2, schema=data.schema).fit(*train), train),
        "overfitted-tree": (DecisionTreeClassifier(random_state=0).fit(train[0], wrong), (train[0], wrong)),
    }
    for name, (model, rows) in models.items():
        with tempfile.TemporaryDirectory() as folder:
            schema, releases = schema_of(data, model), releases_of(model)
            report = hr.Report.of(model, form=FORM, releases=releases, train=rows, test=test, schema=schema)
            public, board, *_ = report.save(Path(folder) / "report.html")
            shot(public if name == "private-list" else board, Path(folder), FOLDER / f"{name}.png")


def releases_of(model):
    """Return a record of the charges of a private model; None for others."""
    is_private = isinstance(model, hr.PrivateRuleListClassifier)
    return Releases(tuple(map(PastRelease, model.rule_list_.privacy.charges)), cap=None) if is_private else None


def schema_of(data, model):
    """Return the schema that a model of another library needs; None for others, which have their own."""
    return data.schema if isinstance(model, DecisionTreeClassifier) else None


def shot(page, folder, path):
    """Put a page's beginning, wide, narrow and printed, beside one another."""
    result = [screen(page, folder, WIDE), screen(page, folder, NARROW)]
    call(f"--print-to-pdf={folder / 'page.pdf'}", "--no-pdf-header-footer", page.as_uri(), folder=folder)
    subprocess.run(["pdftoppm", "-r", "80", "-l", "1", "-png", folder / "page.pdf", folder / "page"], check=True)
    result.append(Image.open(next(folder.glob("page-*.png"))).convert("RGB"))
    scaled = [item.resize((item.width * SHOWN // item.height, SHOWN), Image.Resampling.LANCZOS) for item in result]
    whole = Image.new("RGB", (sum(item.width + 12 for item in scaled) - 12, SHOWN), "#888")
    for place, item in enumerate(scaled):
        whole.paste(item, (sum(other.width + 12 for other in scaled[:place]), 0))
    version = PngInfo()
    version.add_text("Software", SOFTWARE.words)  # tests compare it with the version of the package
    whole.quantize(64).save(path, optimize=True, pnginfo=version)


def screen(page, folder, width):
    call(f"--window-size={width},{HEIGHT}", f"--screenshot={folder / f'{width}.png'}", page.as_uri(), folder=folder)
    return Image.open(folder / f"{width}.png").convert("RGB")


def call(*words, folder):
    subprocess.run([*CHROMIUM, f"--user-data-dir={folder / 'profile'}", *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
