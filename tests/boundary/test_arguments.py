"""What a parameter may be, at its limits."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.boundary.arguments import check_choice, check_flag, check_integer, check_probability, check_share

TAKEN = [
    (check_integer, (3, np.int64(4), 10**30), (3,)),
    (check_flag, (True, False, np.True_), ()),
    (check_share, (0, 0.5, Fraction(1, 3), 1 - 2**-53), ()),
    (check_share, (0.1, 0.5), (0.1,)),
    (check_probability, (5e-324, 0.5, Fraction(1, 3), 1 - 2**-53), ()),
    (check_choice, ("a", "b"), (("a", "b"),)),
]
REFUSED = [
    (check_integer, (2, 3.0, True, "3", None), (3,), "x must be a whole number >= 3, got"),
    (check_flag, (0, 1, "yes", None), (), "x must be True or False, got"),
    (check_share, (-5e-324, 1, True, "0", float("nan"), None), (), r"x must be in \[0, 1\), got"),
    (check_share, (0.0999,), (0.1,), r"x must be in \[0.1, 1\), got"),
    (check_probability, (0, 1, True, "½", float("nan"), None), (), "x must be between 0 and 1, got"),
    (check_choice, ("c", "A", 1, None, ["a"]), (("a", "b"),), "x must be one of a, b, got"),
]


def test_whole_numbers_of_numpy_become_ints_that_do_not_overflow():
    result = check_integer("x", np.int8(100), 1)
    assert (type(result), 3 * result) == (int, 300)


@pytest.mark.parametrize(("check", "values", "limits"), TAKEN)
def test_what_is_within_its_limits_is_taken(check, values, limits):
    for value in values:
        check("x", value, *limits)


@pytest.mark.parametrize(("check", "values", "limits", "message"), REFUSED)
def test_what_is_not_is_refused_by_name(check, values, limits, message):
    for value in values:
        with pytest.raises(ValueError, match=message):
            check("x", value, *limits)
