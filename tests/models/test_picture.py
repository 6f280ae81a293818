"""Pictures as SVG: shapes of an allowed list, no text, and no figure that stays open."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from hedgerow.errors import ArgumentError, MissingPackageError
from hedgerow.models.plot import svg_of
from tests.models.markup import SHAPES, Read
from tests.models.scorecards import THREE, TWO


@pytest.mark.parametrize("model", [TWO, THREE], ids=["two", "three"])
def test_a_picture_is_shapes_and_refers_to_itself_alone(model) -> None:
    before = plt.get_fignums()
    svg = svg_of(model.plot, 'a "title"')
    assert plt.get_fignums() == before
    result = Read(svg)
    assert {"svg", "path", "use"} <= result.tags <= SHAPES
    assert not "".join(result.texts).strip()
    assert ("aria-label", 'a "title"') in result.given
    ids = {value for key, value in result.given if key == "id"}
    links = [value for key, value in result.given if key == "href"]
    assert links
    assert {link.removeprefix("#") for link in links} <= ids
    assert "http" not in svg
    assert {key for key, _ in result.given} <= {
        *("aria-label", "clip-path", "d", "height", "href", "id", "role", "style", "transform", "viewbox", "width"),
        *("x", "y"),
    }


def test_the_same_model_has_the_same_picture() -> None:
    assert svg_of(TWO.plot, "x") == svg_of(TWO.plot, "x")


def test_what_a_backend_sets_for_its_first_figure_stays() -> None:
    def plot():
        plt.ion()  # as a notebook's backend does
        return TWO.plot()

    try:
        svg_of(plot, "x")
        assert plt.isinteractive()
        assert mpl.rcParams["svg.fonttype"] == mpl.rcParamsDefault["svg.fonttype"]
    finally:
        plt.ioff()


def test_text_that_is_drawn_cannot_leave_its_comment() -> None:
    evil = "--><script>alert(1)</script><!-- --!> ]]> \ufffe ฿ \u202e"

    def plot():
        axes = plt.figure().add_subplot()
        axes.set_title(evil.replace("\ufffe", ""))
        return axes

    result = Read(svg_of(plot, evil))
    assert result.tags <= SHAPES
    assert not "".join(result.texts).strip()


def test_a_plot_that_is_refused_leaves_no_figure(monkeypatch) -> None:
    before = plt.get_fignums()

    def refused():
        raise ArgumentError("too large.")

    with pytest.raises(ArgumentError, match="too large"):
        svg_of(refused, "x")
    assert plt.get_fignums() == before
    monkeypatch.setattr("hedgerow.models.plot.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[plots\]'"):
        svg_of(TWO.plot, "x")
