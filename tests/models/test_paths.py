import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.conditions import Path, first_that_holds, literals_of
from hedgerow.schema import Boolean, Integer, Literal, Schema

SCHEMA = Schema({"age": Integer(0, 9, cuts=(2, 5)), "smoker": Boolean(missing="bin"), "old": Boolean()})
LITERALS = [literal for name, attribute in SCHEMA.attributes for literal in attribute.literals(name, negations=True)]
STEPS = st.tuples(st.sampled_from(LITERALS), st.booleans())


@st.composite
def neighbouring_paths(draw) -> list[Path]:
    """Return paths of which each may begin as the one before it, with its last common literal turned, as in a tree."""
    paths: list[Path] = []
    for _ in range(draw(st.integers(1, 6))):
        before = paths[-1] if paths else ()
        start = before[: draw(st.integers(0, len(before)))]
        if start and draw(st.booleans()):
            start = (*start[:-1], (start[-1][0], not start[-1][1]))
        paths.append((*start, *draw(st.lists(STEPS, max_size=3))))
    return paths


@given(neighbouring_paths(), st.lists(st.tuples(*(st.integers(0, a.n_bins - 1) for _, a in SCHEMA.attributes))))
def test_a_row_takes_the_first_path_whose_literals_have_the_stated_values(paths, rows):
    def satisfies(row, path):
        codes = dict(zip(SCHEMA.names, row, strict=True))
        return all(SCHEMA[x.attribute].truth(x)[codes[x.attribute]] == holds for x, holds in path)

    bins = {name: np.array([row[i] for row in rows], dtype=np.uint8) for i, name in enumerate(SCHEMA.names)}
    expected = [next((i for i, path in enumerate(paths) if satisfies(row, path)), -1) for row in rows]
    assert first_that_holds(paths, SCHEMA, bins, len(rows)).tolist() == expected


def test_literals_are_listed_once_in_order():
    young, smokes = Literal("age", "<=", (2,)), Literal("smoker", "true")
    paths = [((young, True), (smokes, True)), ((young, False),), ()]
    assert list(literals_of(paths)) == [young, smokes]
