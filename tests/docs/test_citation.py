"""The citation and the pictures of privacy cards name the version that they come with."""

import pytest
import yaml
from PIL import Image

import hedgerow
from hedgerow.privacy.card import SOFTWARE
from tests.docs.page import ROOT


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == hedgerow.__version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


@pytest.mark.parametrize("name", ["tree-and-card.png", "table-to-card.gif"])
def test_pictures_of_cards_were_made_by_this_version(name):
    """`python docs/pictures.py` writes the version shown on the card into the file, too."""
    with Image.open(ROOT / "docs" / "models" / name) as picture:
        software = picture.info.get("Software") or picture.info["comment"].decode()
    assert software == SOFTWARE
