"""The citation names the version that it comes with."""

import yaml

import hedgerow
from tests.docs.page import ROOT


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == hedgerow.__version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
