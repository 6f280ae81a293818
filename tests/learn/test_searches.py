"""Which search is chosen: by what it would cost, and nothing else."""

from dataclasses import replace

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.contract import specification_of
from hedgerow.learn.private_base import search_progress
from hedgerow.learn.search import cost
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.searches import SearchPlan, choose_search
from hedgerow.schema import Boolean, Label, Schema

QUICK, SLOW = Cost(10, 10, 10, 2), Cost(10, 10, 10, 2, fixed=100.0)
HUGE = Cost(10, 10, 10_000_000_000, 2)


def costs(quick, sensible):
    """Blocks of up to `quick` rules are quick, of up to `sensible` slow but within the limits, larger ones are not."""
    return lambda blocks, draws_size: (  # noqa: ARG005
        QUICK if max(blocks) <= quick else SLOW if max(blocks) <= sensible else HUGE
    )


def chosen(search, size, lookahead=None, quick=3, sensible=5):
    return choose_search(search, size, lookahead, 9, costs(quick, sensible), "rules", "Use fewer.", draws_size=True)


def test_the_costs_of_these_tests_are_what_they_are_called():
    assert QUICK.is_quick
    assert SLOW.is_sensible
    assert not SLOW.is_quick
    assert SLOW.seconds(10_000) > cost.MOST_SECONDS
    assert not HUGE.is_sensible


@pytest.mark.parametrize(
    ("size", "quick", "blocks"),
    [
        (3, 3, (3,)),
        (4, 3, (3, 1)),
        (5, 2, (2, 2, 1)),
        (2, 1, (1, 1)),
        (4, 0, ()),
        (0, 3, (0,)),
        (30, 30, (12, 12, 6)),  # more jointly is not tried
    ],
)
def test_auto_is_the_most_joint_search_that_is_quick(size, quick, blocks):
    result = chosen("auto", size, quick=quick, sensible=quick)
    assert result == SearchPlan(blocks, False, QUICK if blocks else None)


@pytest.mark.parametrize("search", ["auto", "exact"])
def test_a_size_that_nobody_chose_is_drawn_as_far_as_that_is_quick(search):
    assert chosen(search, None) == SearchPlan((3,), True, QUICK)
    assert chosen(search, None, quick=20) == SearchPlan((9,), True, QUICK)


def test_without_a_quick_choice_auto_is_greedy_and_exact_stays_exact():
    assert chosen("auto", None, quick=0) == SearchPlan()
    assert chosen("exact", None, quick=0) == SearchPlan((1,), True, SLOW)
    with pytest.raises(SearchTooLargeError, match=r"got 10 options.*Use fewer\."):
        chosen("exact", None, quick=0, sensible=0)


def test_without_options_a_model_of_no_choices_is_drawn():
    result = choose_search("auto", None, None, 0, costs(1, 1), "rules", "", draws_size=True)
    assert result == SearchPlan((0,), True, QUICK)


@pytest.mark.parametrize("search", ["auto", "exact"])
def test_a_lookahead_that_is_given_is_kept_if_it_is_within_the_limits(search):
    assert chosen(search, 7, lookahead=5) == SearchPlan((5, 2), False, SLOW)
    with pytest.raises(SearchTooLargeError, match="lookahead=5"):
        chosen(search, 7, lookahead=6)
    with pytest.raises(SearchTooLargeError, match=r"evaluations\. Use fewer\."):
        chosen(search, 7, lookahead=6, quick=0, sensible=0)


def test_exact_is_all_jointly_and_greedy_is_greedy():
    assert chosen("exact", 5) == SearchPlan((5,), False, SLOW)
    assert chosen("greedy", 5) == chosen("greedy", None) == SearchPlan()


def test_a_search_is_told_in_words():
    assert "exact, up to 3 rules jointly, together with their number" in chosen("auto", None).note("rules").words
    assert "exact, up to 3 levels jointly" in chosen("auto", 3).note("levels").words
    assert "exact, up to 5 levels, 3 of them jointly" in chosen("auto", 5).note("levels").words
    assert "greedy" in SearchPlan().note("rules").words


THREE = Schema({name: Boolean() for name in "abc"}, Label("y", (0, 1)))


@pytest.mark.parametrize("size", [3, 13, 40])
@pytest.mark.parametrize("search", ["auto", "exact", "greedy"])
def test_no_share_goes_to_levels_that_there_cannot_be(search, size):
    plan = specification_of(hr.PrivateTreeClassifier(1, max_depth=size, search=search)).plan(THREE)
    assert plan.most == 3 if search == "greedy" else plan.blocks == (3,)


@pytest.mark.parametrize("size", [4, 100, 10**20])
@pytest.mark.parametrize("search", ["auto", "exact", "greedy"])
def test_no_share_goes_to_rules_that_there_cannot_be(search, size):
    plan = specification_of(hr.PrivateRuleListClassifier(1, max_rules=size, search=search)).plan(THREE)
    assert plan.most == 3 if search == "greedy" else plan.blocks == (3,)


def test_a_huge_number_of_rules_is_planned_at_once():
    wide = Schema({f"x{i}": Boolean() for i in range(30)}, Label("y", (0, 1)))
    for literals in (1, 2):
        estimator = hr.PrivateRuleListClassifier(1, max_rules=10**9, max_literals=literals)
        assert max(specification_of(estimator).search_plan(wide).blocks, default=0) <= 12


def blas_threads():
    return [item["num_threads"] for item in threadpool_info() if item["user_api"] == "blas"]


@pytest.mark.parametrize(("seconds", "is_limited"), [(0.01, False), (0.1, True), (5.0, True)])
def test_blas_has_one_thread_in_all_searches_but_the_shortest(seconds, is_limited):
    """Threads that waited for one another on busy cores made a search ten times as long as was told."""
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with search_progress(replace(QUICK, fixed=seconds), verbose=False):
            assert blas_threads() == ([1] * len(before) if is_limited else before)
        assert blas_threads() == before
