"""The page of datasets, from the shapes that the tests hold the files against."""

from __future__ import annotations

from tests.docs.page import Page
from tests.shapes import SHAPES

PAGE = "src/hedgerow/datasets/NOTICE.md"
SOURCES = {  # name of the file: what its row says first of the source
    "adult": "Becker",
    "german": "Hofmann",
    "compas": "ProPublica,",
    "ctg": "Campos",
    "adult_binary": "derived from *Adult*",
    "compas_binary": "derived from the court records",
    "german_binary": "",
}


def check(page: Page) -> None:
    page.given("The SHA-256 of", "Interpretable Models*, 2024; SSRL")
    page.given(*(f"doi 10.24432/{doi}, CC BY 4.0" for doi in ("C5XW20", "C5NC77", "C51S4N")))
    for name, source in SOURCES.items():
        page.row("", f"{SHAPES[name][0]:,}", "", source)
    columns = {name: shape[1] for name, shape in SHAPES.items()}
    page.says("all rows, {} columns unchanged", str(columns["compas"] + 1))  # with the label
    page.says("the {} attributes and , full precision", str(columns["ctg"]))
    page.says("unchanged; {} binary columns", str(columns["adult_binary"]))
