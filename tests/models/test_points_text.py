"""Scorecards as text."""

import pandas as pd

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.schema import Boolean, Categorical, Label, Schema
from tests.models.scorecards import NOISY, NONE, THREE, TWO

# 1 / (1 + exp(-0.1 t)) and, with 1.96 * 0.25 = 0.49 more or less in the exponent, its interval
GOLDEN = """\
attribute  bin         points
age        17 to 30       -12
           31 to 60        -3
           61 to 90        11
           missing          0
ward       surgery          0
           day clinic       6
           outside          1
smoker     false           -2
           true             7
           missing          0
base                       -7

total  P(ill = yes)  95 % (noise only)
  -21          11 %      7.0 % to 17 %
  -20          12 %      7.7 % to 18 %
  -15          18 %       12 % to 27 %
  -10          27 %       18 % to 38 %
   -5          38 %       27 % to 50 %
    0          50 %       38 % to 62 %
    5          62 %       50 % to 73 %
   10          73 %       62 % to 82 %
   15          82 %       73 % to 88 %
   17          85 %       77 % to 90 %

95 % (noise only): interval expected to contain the result of the same fit without noise.
It includes neither sampling error nor the division of points among correlated attributes."""


def test_the_text_is_a_table_of_points_and_of_risks() -> None:
    assert str(TWO) == TWO.to_text() == GOLDEN


def test_the_noise_on_points_is_in_the_table_and_explained() -> None:
    lines = str(NOISY).splitlines()
    assert lines[:12] == [
        "attribute  bin         points  95 % (noise only)         rows",
        "age        17 to 30       -12                 ±4    about 210",
        "           31 to 60        -3                 ±1    about 970",
        "           61 to 90        11                 ±2    about 430",
        "           missing          0       too few rows   at most 20",
        "ward       surgery          0                 ±0  about 1,000",
        "           day clinic       6                 ±3    about 510",
        "           outside          1                 ±2     about 90",
        "smoker     false           -2                 ±1          900",
        "           true             7                 ±1          611",
        "           missing          0                 ±6           94",
        "base                       -7",
    ]
    assert lines[-4:] == [
        "95 % (noise only): interval expected to contain the result of the same fit without noise.",
        "It includes neither sampling error nor the division of points among correlated attributes.",
        "rows: released number of rows, rounded to the precision that the noise allows (95 %).",
        "too few rows or *: noise alone can produce this number of rows; the points come from other bins, or are 0.",
    ]


def test_categories_with_the_same_points_are_one_line() -> None:
    values = (*(f"category {i}" for i in range(12)), "one, two", "rare")
    schema = Schema({"job": Categorical(values, missing="bin"), "x": Boolean()}, Label("y", (0, 1)))
    points = (*[(2,)] * 10, *[(-1,)] * 4, (2,))
    parts = (AttributePoints("job", points, unsupported=(13,)), AttributePoints("x", ((1,), (0,))))
    assert str(Scorecard(schema, (0,), parts, 1, None, NONE)).splitlines()[1:9] == [
        "job        category 0, category 1, category 2,         2",
        "           category 3, category 4, category 5,",
        "           category 6, category 7, category 8,",
        "           category 9",
        '           category 10, category 11, "one, two",      -1',
        "           rare*",
        "           missing                                     2",
        "x          false                                       1",
    ]


def test_three_classes_have_three_columns_and_a_sentence() -> None:
    assert str(THREE).splitlines() == [
        "attribute  bin       home  intensive care  ward",
        "dose       [0, 0.5]     4               0     0",
        "           (0.5, 1]    -1               2    -1",
        "smoker     false        0               0     0",
        "           true        -2               3     0",
        "           missing      0               0     1",
        "base                    1               0     1",
        "",
        "The class with the largest total is predicted. P(class) is proportional to exp(0.5 * total of the class): "
        "1.39 more points double its odds.",
    ]


def test_names_make_no_lines_of_their_own_and_long_ones_no_wide_table() -> None:
    long, lines = "x" * 1000, "a\nb\x1b[2J"
    schema = Schema({long: Boolean(), lines: Categorical(("\u202e1", "2"))}, Label("y\n", ("n\ro", "o")))
    parts = AttributePoints(long, ((1,), (0,))), AttributePoints(lines, ((1,), (0,)))
    text = str(Scorecard(schema, (0,), parts, 1, None, NONE))
    assert text.isprintable() is False  # its line breaks alone
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == 1 + 4 + 1 + 1 + 1 + 3
    assert sorted(map(len, text.split("\n")))[-2] < 80


def test_the_explanation_of_a_row_lists_the_points_of_its_bins() -> None:
    rows = pd.DataFrame({"age": [20, 50, None], "ward": ["surgery", "x", "day clinic"], "smoker": [True, None, False]})
    assert TWO.decisions(rows).explained()["explanation"] == [
        "base: -7; age 17 to 30: -12; ward surgery: +0; smoker yes: +7",
        "base: -7; age 31 to 60: -3; ward any other value: +1; smoker missing: +0",
        "base: -7; age missing: +0; ward day clinic: +6; smoker no: -2",
    ]
    more = pd.DataFrame({"dose": [0.2, 0.7], "smoker": [None, True]})
    assert THREE.predict(more).tolist() == ["home", "intensive care"]
    assert THREE.decisions(more).explained()["explanation"] == [
        "base: +1; dose up to 0.5: +4; smoker missing: +0",
        "base: +0; dose over 0.5: +2; smoker yes: +3",
    ]
    assert TWO.decisions(rows.iloc[:0]).explained()["explanation"] == []
