"""docs/datasets.md, from the shapes that the tests hold the files against."""

from __future__ import annotations

from tests.docs.page import Page
from tests.shapes import SHAPES

PAGE = "docs/datasets.md"
SOURCES = {  # name of the file: its source, with DOI and licence as the repository prints them
    "adult": 'UCI "Adult", doi 10.24432/C5XW20, CC BY 4.0',
    "german": 'UCI "Statlog (German Credit Data)", doi 10.24432/C5NC77, CC BY 4.0',
    "compas": "ProPublica,",
    "ctg": 'UCI "Cardiotocography", doi 10.24432/C51S4N, CC BY 4.0',
    "adult_binary": "of the public code of PDR and SSRL",
    "compas_binary": "the same",
    "german_binary": "",
}


def check(page: Page) -> None:
    page.given("a SHA-256 that", "Interpretable Models*, 2024; SSRL")
    for name, source in SOURCES.items():
        page.row("", f"{SHAPES[name][0]:,}", "", source)
    columns = {name: shape[1] for name, shape in SHAPES.items()}
    page.says("all rows, {} columns unchanged", str(columns["compas"] + 1))  # with the label
    page.says("the {} attributes and , full precision", str(columns["ctg"]))
    page.says("unchanged; {} binary columns", str(columns["adult_binary"]))
