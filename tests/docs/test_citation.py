"""The citation, and the pictures of cards and reports, name the version that they come with."""

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


PICTURES = ("models/tree-and-card.png", "models/table-to-card.gif")
REPORTS = ("report/private-list.png", "report/optimal-tree.png", "report/overfitted-tree.png")


@pytest.mark.parametrize("name", [*PICTURES, *REPORTS])
def test_pictures_with_a_version_show_the_current_version(name):
    """`python docs/pictures.py` and `python benchmarks/reports.py` write the version into the file, too."""
    with Image.open(ROOT / "docs" / name) as picture:
        software = picture.info.get("Software") or picture.info["comment"].decode()
    assert software == SOFTWARE.words
