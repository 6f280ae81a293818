"""Merged models of one table: numbers of tables, chances and matchings against lists of all tables and all orders."""

from collections import Counter
from functools import cache
from itertools import permutations, product
from math import comb, log, log2

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import unlinked_reconstruction
from studies import merging
from studies.merging import Pair, scaled


def random_pair(seed, most_rows=5, shape=(2, 3)):
    """Two models of a small domain, and the rows of a random table with two classes."""
    rng = np.random.default_rng(seed)
    possible = rng.integers(0, 3, shape)
    possible[0, 0] += not possible.any()
    domain = [(i, j) for i, j in product(*map(range, shape)) for _ in range(possible[i, j])]
    rows = [(*domain[rng.integers(len(domain))], rng.integers(2)) for _ in range(rng.integers(2, most_rows + 1))]
    true = np.zeros((*shape, 2), dtype=np.int64)
    for row in rows:
        true[row] += 1
    return Pair(possible.tolist(), true)


PAIRS = [random_pair(seed) for seed in range(12)]


@cache
def tables(pair):
    """The cells of all ordered tables with the counts of both models; the classes of the rows are known."""
    domain = [(i, j) for i, line in enumerate(pair.possible) for j, rows in enumerate(line) for _ in range(rows)]
    classes = np.repeat([0, 1], pair.true.sum(axis=(0, 1))).tolist()
    known, result = [Counter(positions(pair, axis)) for axis in (0, 1)], []
    for cells in product(domain, repeat=len(classes)):
        rows = list(zip(cells, classes, strict=True))
        if all(Counter((cell[axis], y) for cell, y in rows) == known[axis] for axis in (0, 1)):
            table = np.zeros(pair.true.shape, dtype=np.int64)
            for (i, j), y in rows:
                table[i, j, y] += 1
            result.append(table)
    return result


@pytest.mark.parametrize("pair", PAIRS)
def test_tables_are_counted_and_bounded(pair):
    n_tables = len(tables(pair))
    assert merging.count_tables(pair) == n_tables
    lower, _, upper = merging.unplaced_bounds(pair, scaled(pair.masses, *pair.counts))
    assert lower - 1e-6 <= log2(n_tables) <= upper + 1e-6


def test_one_model_and_linked_rows_are_special_cases():
    for pair in PAIRS[:8]:
        first = merging.alone(pair)
        unplaced = merging.unplaced(pair, pair.counts[0], pair.first_bits)
        assert log2(merging.count_tables(first)) == pytest.approx(unplaced)
        bits = merging.unplaced(pair, pair.true, pair.bits(pair.true))
        assert log2(merging.count_tables(merging.linked(pair))) == pytest.approx(bits)
        numbers = [merging.count_tables(own) for own in (merging.linked(pair), pair, first)]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_posterior_is_the_share_of_tables(pair):
    expected = np.mean(tables(pair), axis=0)
    rows = np.maximum(pair.counts[0], 1)[:, None, :]
    assert merging.posterior(pair) == pytest.approx(expected / rows)


def test_maximum_entropy_is_close_to_the_posterior_but_differs():
    apart = [np.abs(merging.posterior(p) - merging.chances(p, scaled(p.masses, *p.counts))).max() for p in PAIRS]
    assert 0.02 < max(apart) < 0.2


@pytest.mark.parametrize("pair", PAIRS)
def test_the_loss_of_every_compatible_table_is_the_entropy(pair):
    merged = scaled(pair.masses, *pair.counts)
    claimed = merging.entropy(pair, merged)
    losses = [merging.log_loss(Pair(pair.possible, rows), merged) for rows in tables(pair)]
    assert losses == pytest.approx([claimed] * len(losses), abs=1e-3)
    assert pair.bits(pair.true) - 1e-6 <= claimed <= pair.first_bits + 1e-6


def positions(pair, axis):
    """The group of each row of a file, sorted: its region in one model and its class."""
    counts = pair.counts[axis]
    return [(i, y) for i, y in product(*map(range, counts.shape)) for _ in range(counts[i, y])]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.n_rows <= 5])
def test_the_alignment_by_overlap_is_the_best_permutation(pair):
    first, second = positions(pair, 0), positions(pair, 1)
    size = pair.domain_rows
    sums = [list(map(sum, pair.possible)), list(map(sum, zip(*pair.possible, strict=True)))]

    def cost(order):
        impossible, overlap = 0, 0.0
        for (i, y), place in zip(first, order, strict=True):
            j, label = second[place]
            both = pair.possible[i][j]
            if y != label or not both:
                impossible += 1
            else:
                overlap += log(both * size / (sums[0][i] * sums[1][j]))
        return impossible, -overlap

    best = min(map(cost, permutations(range(len(first)))))
    matched = merging.aligned_by_overlap(pair)
    assert [own.tolist() for own in Pair(pair.possible, matched).counts] == [own.tolist() for own in pair.counts]
    value = sum(
        matched[i, j].sum() * log(pair.possible[i][j] * size / (sums[0][i] * sums[1][j]))
        for i, j in np.argwhere(pair.masses > 0).tolist()
    )
    assert (matched[pair.masses == 0].sum(), -value) == (best[0], pytest.approx(best[1], abs=1e-9))
    assert best[0] == 0  # the true rows are a matching without impossible pairs


@pytest.mark.parametrize("pair", PAIRS)
def test_rounded_rows_keep_all_counts_and_are_possible(pair):
    merged = scaled(pair.masses, *pair.counts)
    matched = merging.aligned_by_probability(pair, merged)
    assert [own.tolist() for own in Pair(pair.possible, matched).counts] == [own.tolist() for own in pair.counts]
    assert (np.abs(matched - merged) < 1 + 1e-5).all()
    assert not matched[pair.masses == 0].any()


def identities(pair):
    """All ways in which the true rows can be in the positions of both files, each sorted by group."""
    rows = [cell for cell in np.ndindex(*pair.true.shape) for _ in range(pair.true[cell])]
    for axis in (0, 1):
        groups = [(row[axis], row[2]) for row in rows]
        sorted_groups = positions(pair, axis)
        yield [order for order in permutations(range(len(rows))) if [groups[k] for k in order] == sorted_groups]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.n_rows <= 4][:8])
def test_right_rows_are_the_mean_over_all_orders_and_are_few(pair):
    first, second = positions(pair, 0), positions(pair, 1)
    orders, others = identities(pair)
    for matching in permutations(range(pair.n_rows)):
        matched = np.zeros(pair.true.shape)
        right = 0
        for place, partner in enumerate(matching):
            if first[place][1] == second[partner][1]:
                matched[first[place][0], second[partner][0], first[place][1]] += 1
            right += sum(own[place] == other[partner] for own, other in product(orders, others))
        mean = right / (len(orders) * len(others))
        assert merging.right_rows(pair, matched) == pytest.approx(mean)
        assert mean <= merging.most_right_rows(pair) + 1e-9


def test_right_cells_are_the_mean_over_all_orders():
    pair = random_pair(3, most_rows=4)
    matched = merging.aligned_by_overlap(pair)
    orders, _ = identities(pair)
    rows = [cell for cell in np.ndindex(*pair.true.shape) for _ in range(pair.true[cell])]
    given = [cell for cell in np.ndindex(*matched.shape) for _ in range(matched[cell])]
    given = [given_row for group in positions(pair, 0) for given_row in take(given, group)]
    right = [np.mean([rows[k][1] == row[1] for k, row in zip(order, given, strict=True)]) for order in orders]
    assert merging.right_cells(pair, matched) == pytest.approx(np.mean(right))
    assert merging.right_in_best_order(pair, matched) >= max(right) - 1e-9


def take(given, group):
    place = next(k for k, row in enumerate(given) if (row[0], row[2]) == group)
    yield given.pop(place)


def test_pairs_of_real_models_agree_with_the_package():
    data = hr.datasets.load("breast_cancer")
    models = [hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(data.frame, data.labels)]
    models.append(hr.GreedyRuleListClassifier(schema=data.schema, max_rules=3).fit(data.frame, data.labels))
    pair = Pair.of(models, data.frame, data.labels, data.schema)
    result, together = merging.compared(pair), unlinked_reconstruction(models)
    assert result["first merged"] == pytest.approx(together.uncertainties[0], abs=1e-6)
    assert result["gain"] == pytest.approx(together.gains[0], abs=1e-5)
    assert result["upper"] * pair.n_rows * together.domain.bits == pytest.approx(together.unplaced_bits)
    assert result["linked"] < result["first merged"] < result["first alone"]
    assert result["loss minus entropy"] == pytest.approx(0, abs=1e-3)
    assert Counter(key.split()[0] for key in result)["overlap"] == 6


def test_cells_that_the_counts_leave_empty_do_not_spoil_the_estimate():
    """The 9 rows of the first region fill a second region, so that one of the three cells has no row."""
    pair = Pair([[4, 0], [3, 2]], np.array([[9, 0], [0, 6]])[:, :, None])
    lower, estimate, upper = merging.unplaced_bounds(pair, scaled(pair.masses, *pair.counts))
    exact = log2(merging.count_tables(pair))
    assert exact == pytest.approx(log2(comb(15, 9)) + 9 * 2 + 6)
    assert lower - 1e-6 <= exact <= upper
    assert abs(estimate - exact) < 0.1
