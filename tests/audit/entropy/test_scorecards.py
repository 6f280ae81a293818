"""Residual entropy given a scorecard against all tables of up to five rows, one by one."""

from dataclasses import replace
from functools import cache
from itertools import product
from math import comb, log2

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit import ProbabilisticDataset, joint_reconstruction, reconstruction
from hedgerow.audit.entropy import bin_rows
from hedgerow.audit.entropy import result as result_module
from hedgerow.audit.entropy.bin_rows import arrangement_bits
from hedgerow.errors import SchemaError
from hedgerow.models import AttributePoints, Scorecard
from hedgerow.privacy.card import PrivacyCard

EXACT = PrivacyCard.none("example")
LABEL = hr.Label("ill", ("no", "yes"))
AGE = {"age": hr.Integer(0, 3, cuts=(0,))}
VALUES = {"age": (0, 1, 2, 3), "smoker": (False, True), "ward": ("a", "b", "c"), "dose": (0.0, 0.5, 1.0)}
ATTRIBUTES = {
    **AGE,
    "smoker": hr.Boolean(),
    "ward": hr.Categorical(("a", "b", "c")),
    "dose": hr.Real(0.0, 1.0, cuts=(0.5,)),
}


def card_of(points, names, base=(0,), label=LABEL, rows=None, error=None):
    schema = hr.Schema({name: ATTRIBUTES[name] for name in names}, label)
    rows = rows or {}
    parts = [
        AttributePoints(name, own, rows=rows.get(name), rows_error=error if name in rows else None)
        for name, own in points.items()
    ]
    return Scorecard(schema, base, tuple(parts), 0.5, None, EXACT)


CARDS = {
    "two classes": (card_of({"age": ((0,), (1,)), "smoker": ((0,), (1,))}, ("age", "smoker"), (-1,)), 5),
    "equal points": (card_of({"ward": ((0,), (1,), (1,)), "smoker": ((0,), (-1,))}, ("ward", "smoker")), 5),
    "an attribute without points": (card_of({"age": ((0,), (2,))}, ("age", "smoker")), 4),
    "no points": (card_of({}, ("age",)), 4),
    "a step": (card_of({"dose": ((3,), (1,)), "smoker": ((0,), (2,))}, ("dose", "smoker")), 5),
    "three classes": (
        card_of(
            {"ward": ((0, 1, 0), (1, 0, 0), (0, 1, 0)), "smoker": ((0, 0, 0), (0, 0, 1))},
            ("ward", "smoker"),
            (0, 1, -1),
            hr.Label("ill", ("no", "maybe", "yes")),
        ),
        5,
    ),
    "a number": (
        card_of({"smoker": ((0,), (1,)), "ward": ((0,), (1,), (2,))}, ("smoker", "ward"), (1,), hr.Number("y", 0, 9)),
        5,
    ),
}


class Enumerated:
    """All tables of n rows over the values of a scorecard's schema, with the total and the bins of each row."""

    def __init__(self, card, n):
        names = card.schema.names
        self.card, self.n = card, n
        self.rows = pd.DataFrame(list(product(*(VALUES[name] for name in names))), columns=list(names))
        self.tables = np.indices((len(self.rows),) * n).reshape(n, -1).T
        totals = card.totals(self.rows) if card.parts else np.zeros(len(self.rows), dtype=int)
        _, total = np.unique(totals.reshape(len(self.rows), -1), axis=0, return_inverse=True)
        self.total = total.reshape(-1)[self.tables]
        bins = card.schema.encode(hr.tables.frames.Table.of(self.rows))
        self.histograms = np.concatenate(
            [
                np.stack([(bins[name][self.tables] == b).sum(axis=1) for b in range(len(part.points))], axis=1)
                for part in card.parts
                for name in [part.attribute]
            ]
            or [np.zeros((len(self.tables), 1), dtype=int)],
            axis=1,
        )

    def frame(self, place):
        return self.rows.iloc[self.tables[place]].reset_index(drop=True)

    def counts(self, place):
        """Return the numbers of tables that a reader cannot distinguish from one, by what the reader knows."""
        placed = (self.total == self.total[place]).all(axis=1)
        unplaced = (np.sort(self.total, axis=1) == np.sort(self.total[place])).all(axis=1)
        bins = (self.histograms == self.histograms[place]).all(axis=1)
        return {
            "totals": (placed.sum(), unplaced.sum()),
            "bins": (bins.sum(), bins.sum()),
            "both": ((placed & bins).sum(), (unplaced & bins).sum()),
        }


def audit(case, place, counts):
    resolution = {"dose": 0.5} if "dose" in case.card.schema else None
    return reconstruction(case.card, data=case.frame(place), counts=counts, resolution=resolution)


@cache
def enumerated(name):
    return Enumerated(*CARDS[name])


@pytest.fixture(params=list(CARDS))
def case(request):
    return enumerated(request.param)


def some(case):
    """Return the places of about ten tables, spread over all."""
    return range(0, len(case.tables), len(case.tables) // 9)


def test_entropy_counts_all_tables_with_the_same_numbers_of_rows(case):
    for place in some(case):
        for counts, (placed, unplaced) in case.counts(place).items():
            result = audit(case, place, counts)
            assert 2**result.entropy_bits == pytest.approx(placed, rel=1e-9), counts
            assert 2**result.unplaced_bits == pytest.approx(unplaced, rel=1e-9), counts
            assert result.uncertainty == pytest.approx(log2(placed) / (case.n * log2(len(case.rows))))
            assert result.entropy_bounds[0] == pytest.approx(result.entropy_bits)


def test_bounds_contain_the_number_of_tables_if_they_are_too_many_to_count(case, monkeypatch):
    monkeypatch.setattr(bin_rows, "MOST_STEPS", 0)
    for place in some(case):
        placed, _ = case.counts(place)["both"]
        low, high = audit(case, place, "both").entropy_bounds
        assert low - 1e-9 <= log2(placed) <= high + 1e-9
        assert high <= min(audit(case, place, known).entropy_bits for known in ("totals", "bins")) + 1e-9


def test_the_lower_bound_counts_the_orders_of_rows_with_equal_totals(monkeypatch):
    """Both rows have total 1: with age 0 and smoker, or with one of three ages and not smoker."""
    card = card_of({"age": ((0,), (1,)), "smoker": ((0,), (1,))}, ("age", "smoker"))
    monkeypatch.setattr(bin_rows, "_MOST_PATTERNS", 0)
    result = reconstruction(card, data=pd.DataFrame({"age": [0, 2], "smoker": [True, False]}), counts="both")
    assert result.entropy_bounds == pytest.approx((log2(2 * 3), log2(2 * 2 * 3)))


def test_row_entropy_given_rows_by_bin_equals_the_enumeration(case):
    for place in some(case):
        same = (case.histograms == case.histograms[place]).all(axis=1)
        shares = np.bincount(case.tables[same, 1]) / same.sum()
        result = audit(case, place, "bins")
        assert result.bits == pytest.approx((-sum(p * log2(p) for p in shares if p),))
        assert result.possible_rows == ((shares > 0).sum(),)


def test_supports_with_stored_rows_by_bin_equal_the_rows(case):
    place = len(case.tables) // 3
    frame = case.frame(place)
    by_total = reconstruction(case.card, data=frame, resolution={"dose": 0.5} if "dose" in frame else None)
    totals = (
        list(map(tuple, case.card.totals(frame).reshape(case.n, -1).tolist())) if case.card.parts else [(0,)] * case.n
    )
    supports = {total: totals.count(total) for total in totals}
    resolution = {"dose": 0.5} if "dose" in frame else None
    given = reconstruction(case.card, supports=supports, resolution=resolution)
    assert (given.supports, given.conditions, given.bits) == (by_total.supports, by_total.conditions, by_total.bits)
    order = hr.audit.totals(case.card, resolution=resolution).rows_by_total
    listed = reconstruction(case.card, supports=[supports.get(total, 0) for total in order], resolution=resolution)
    assert listed.entropy_bits == given.entropy_bits
    if not case.card.parts:
        return
    bins = case.card.schema.encode(hr.tables.frames.Table.of(frame))
    stored = replace(
        case.card,
        parts=tuple(
            replace(
                part,
                rows=tuple(np.bincount(bins[part.attribute], minlength=len(part.points)).tolist()),
                rows_error=0.0,
            )
            for part in case.card.parts
        ),
    )
    for counts in ("bins", "both"):
        of_file = reconstruction(
            stored, counts=counts, supports=supports if counts == "both" else None, resolution=resolution
        )
        assert of_file.entropy_bits == pytest.approx(audit(case, place, counts).entropy_bits)
    assert reconstruction(stored, resolution=resolution).known == "bins"


def test_rows_by_bin_of_some_attributes_leave_the_others_to_the_totals(monkeypatch):
    points = {"age": ((0,), (1,)), "smoker": ((0,), (1,))}
    case = Enumerated(card_of(points, ("age", "smoker")), 5)
    for place in some(case):
        ages = case.histograms[:, :2]
        rows = {"age": tuple(ages[place].tolist())}
        card = card_of(points, ("age", "smoker"), rows=rows, error=0.0)
        same = (case.total == case.total[place]).all(axis=1) & (ages == ages[place]).all(axis=1)
        supports = np.bincount(case.total[place], minlength=3).tolist()
        with monkeypatch.context() as few:
            exact = reconstruction(card, supports=supports, counts="both").entropy_bits
            assert 2**exact == pytest.approx(same.sum())
            few.setattr(bin_rows, "MOST_STEPS", 0)
            low, high = reconstruction(card, supports=supports, counts="both").entropy_bounds
        assert low - 1e-9 <= exact <= high + 1e-9
        bins = (ages == ages[place]).all(axis=1).sum()
        assert 2 ** reconstruction(card).entropy_bits == pytest.approx(bins)


def labelled_tables(n):
    """Return the tables of n rows with labels over a card with three totals: rows, labels and totals of each."""
    case = Enumerated(card_of({"smoker": ((0,), (1,)), "ward": ((0,), (0,), (1,))}, ("smoker", "ward")), n)
    labels = np.indices((2,) * n).reshape(n, -1).T
    tables, classes = (part.ravel() for part in np.indices((len(case.tables), len(labels))))
    return case, case.total[tables], labels[classes], case.histograms, tables


def test_numbers_by_total_and_class_count_labels_too():
    """Rows by total and class leave as many bits of the attributes as rows by total, plus the order of the cells."""
    case, totals, labels, _, _ = labelled_tables(4)
    cells = np.sort(2 * totals + labels, axis=1)
    for place in range(0, len(cells), len(cells) // 9):
        same = (cells == cells[place]).all(axis=1).sum()
        _, counts = np.unique(cells[place], return_counts=True)
        placed = audit(case, place // 16, "totals").entropy_bits
        assert 2 ** (placed + arrangement_bits(counts.tolist())) == pytest.approx(same)


def test_numbers_by_bin_and_class_add_up_over_classes():
    case, _, labels, _, tables = labelled_tables(4)
    by_class = np.concatenate([labels.sum(axis=1)[:, None], histograms_by_class(case, labels, tables)], axis=1)
    for place in range(5, len(by_class), len(by_class) // 9):
        unknown = (by_class == by_class[place]).all(axis=1)
        known = unknown & (labels == labels[place]).all(axis=1)
        frame, bits = case.frame(tables[place]), 0.0
        for value in np.unique(labels[place]):
            own = frame[labels[place] == value]
            bits += reconstruction(case.card, data=own, counts="bins").entropy_bits
        assert 2**bits == pytest.approx(known.sum())
        assert 2**bits * comb(4, labels[place].sum()) == pytest.approx(unknown.sum())


def histograms_by_class(case, labels, tables):
    """Return the rows in each bin of each attribute, and these with the second label, for each table."""
    names = list(case.rows)
    codes = np.stack([case.rows[name].astype("category").cat.codes.to_numpy() for name in names])
    holds = [codes[:, case.tables[tables]] == b for b in range(3)]
    counts = [is_bin.sum(axis=2) + 10 * (is_bin & (labels == 1)).sum(axis=2) for is_bin in holds]
    return np.concatenate(counts).T


PRIOR = {"age": (0.5, 0.5), "smoker": (0.9, 0.1)}


def test_a_prior_gives_the_entropy_of_a_row_given_its_total():
    card = CARDS["two classes"][0]
    result = reconstruction(card, supports=[2, 1, 3], prior=PRIOR)
    chances = {
        (age, smoker): (0.5 if age == 0 else 0.5 / 3) * (0.1 if smoker else 0.9)
        for age, smoker in product(VALUES["age"], VALUES["smoker"])
    }
    for total, bits in zip((-1, 0, 1), result.bits, strict=True):
        own = np.array([p for (age, smoker), p in chances.items() if (age > 0) + smoker - 1 == total])
        own /= own.sum()
        assert bits == pytest.approx(-(own * np.log2(own)).sum())
    assert result.prior_bits == pytest.approx(-sum(p * log2(p) for p in chances.values()))


def test_a_prior_changes_only_attributes_without_rows_by_bin():
    card = card_of({"age": ((0,), (2,))}, ("age", "smoker"), rows={"age": (1, 2)}, error=0.0)
    bits = reconstruction(card, prior=PRIOR).entropy_bits
    smoker = 0.9 * log2(1 / 0.9) + 0.1 * log2(1 / 0.1)
    assert bits == pytest.approx(log2(3 * 3**2) + 3 * smoker)


def test_a_prior_that_excludes_the_rows_is_refused():
    card = CARDS["two classes"][0]
    for given in ({"supports": [2, 1, 3]}, {"data": pd.DataFrame({"age": [0], "smoker": [True]}), "counts": "bins"}):
        with pytest.raises(ValueError, match="prior"):
            reconstruction(card, prior={"smoker": (1.0, 0.0)}, **given)
    with pytest.raises(ValueError, match="prior"):
        reconstruction(card, data=pd.DataFrame({"age": [0], "smoker": [True]}), counts="both", prior=PRIOR)


NOISY = card_of(
    {"age": ((0,), (1,)), "smoker": ((0,), (1,))},
    ("age", "smoker"),
    rows={"age": (30, 72), "smoker": (103, -5)},
    error=3.0,
)


def test_noisy_rows_by_bin_are_read_as_a_table_of_their_mean_sum():
    result = reconstruction(NOISY)
    assert (result.view, result.known, result.n_rows) == ("noisy", "bins", 102)  # the mean of 102 and 103 is rounded
    assert result.entropy_bits == pytest.approx(log2(comb(102, 30)) + 72 * log2(3))
    assert "noisy" in str(result)
    with pytest.raises(ValueError, match="noisy"):
        reconstruction(NOISY, supports=[1, 100, 1], counts="both")


def test_the_largest_remainders_of_noisy_rows_by_bin_are_rounded_up():
    """Sums of 4 and 6 are scaled to 5: from 1.25, 1.25, 2.5 to 1, 1, 3, and from 2.5, 2.5 to 3, 2."""
    points = {"ward": ((0,), (1,), (2,)), "smoker": ((0,), (1,))}
    card = card_of(points, ("ward", "smoker"), rows={"ward": (1, 1, 2), "smoker": (3, 3)}, error=1.0)
    assert reconstruction(card).entropy_bits == pytest.approx(log2(20) + log2(10))


def test_exact_rows_by_bin_must_be_those_of_a_table():
    problems = {
        "different sums": {"age": (3, 4), "smoker": (3, 5)},
        "negative": {"age": (-1, 8), "smoker": (3, 4)},
        "at least one row": {"age": (0, 0), "smoker": (0, 0)},
    }
    for problem, rows in problems.items():
        with pytest.raises(ValueError, match=problem):
            reconstruction(exact_card(rows))


def exact_card(rows):
    return card_of({"age": ((0,), (1,)), "smoker": ((0,), (1,))}, ("age", "smoker"), rows=rows, error=0.0)


def test_rows_that_the_scorecard_does_not_count_are_noted():
    card = exact_card({"age": (2, 3), "smoker": (4, 1)})
    rows = pd.DataFrame({"age": [0, 0, 1, 2, 3], "smoker": [True] + 4 * [False]})
    for counts in ("totals", "bins", "both"):
        assert not reconstruction(card, data=rows, counts=counts).note
        result = reconstruction(card, data=rows.assign(smoker=True), counts=counts)
        assert "do not match" in result.note
        assert result.summary.endswith(result.note)


def test_the_summary_of_rows_by_bin_distinguishes_a_row_from_the_table():
    result = reconstruction(exact_card({"age": (2, 3), "smoker": (4, 1)}))
    share = 100 * result.bits[0] / result.domain.bits
    assert f"Each row alone keeps {share:.1f} %" in result.summary
    assert 100 * result.uncertainty < share
    assert str(result).split("\n\n")[1].startswith("region")


def test_the_summary_states_bounds_as_bounds(monkeypatch):
    arguments = {"supports": [2, 2, 1], "counts": "both"}
    card = exact_card({"age": (2, 3), "smoker": (4, 1)})
    assert "at most" not in reconstruction(card, **arguments).summary
    monkeypatch.setattr(bin_rows, "MOST_STEPS", 0)
    result = reconstruction(card, **arguments)
    for share in (result.uncertainty, result.unplaced_uncertainty):
        assert f"at most {100 * share:.1f} %" in result.summary
    assert f"Dist_G ≤ {result.uncertainty:.3f}" in repr(result)
    assert f"Dist_G ≤ {result.uncertainty:.3f}" in " ".join(result.summary.split())


def test_a_count_ends_as_soon_as_no_table_is_left():
    """Without it, a file with a large number of rows would take as many steps."""
    card = exact_card({"age": (10**15, 0), "smoker": (10**15, 0)})
    with pytest.raises(ValueError, match="no table"):
        reconstruction(card, counts="both", supports={2: 10**15})


def test_points_alone_disclose_nothing_and_the_error_states_it():
    with pytest.raises(ValueError, match="excludes no table"):
        reconstruction(CARDS["two classes"][0])


TABLE = pd.DataFrame({"age": [0, 1, 2, 3], "smoker": [True, False, True, False]})


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"supports": [1, 2]}, "3 regions"),
        ({"supports": {7: 1}}, "audit.totals"),
        ({"supports": {0: 1, (0,): 2}}, "twice"),
        ({"supports": [1, 2**63, 1]}, "below 2"),
        ({"supports": {0: 10**400}}, "below 2"),
        ({"supports": [0, 0, 0]}, "at least one row"),
        ({"data": pd.DataFrame({"age": [0], "smoker": [True]}).iloc[:0]}, "at least one row"),
        ({"supports": [1, 1, 1], "data": TABLE}, "not both"),
        ({"supports": [1, 1, 1], "counts": "bins"}, "rows by total"),
        ({"counts": "totals"}, "supports="),
        ({"counts": "bins"}, "no rows by bin"),
        ({"supports": [1, 1, 1], "counts": "both"}, "no rows by bin"),
        ({"data": TABLE, "counts": "all"}, "counts"),
        ({"data": TABLE, "independent_bits": True}, "independent_bits"),
        ({"data": TABLE, "features": ("age", "smoker")}, "features"),
    ],
)
def test_arguments_that_do_not_fit_a_scorecard_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        reconstruction(CARDS["two classes"][0], **arguments)


def test_numbers_of_different_tables_are_refused():
    card = card_of(
        {"age": ((0,), (1,)), "smoker": ((0,), (1,))},
        ("age", "smoker"),
        rows={"age": (3, 0), "smoker": (3, 0)},
        error=0.0,
    )
    for supports, match in (([1, 1, 1], "no table"), ([1, 1, 0], "sum")):
        with pytest.raises(ValueError, match=match):
            reconstruction(card, supports=supports, counts="both")


def test_counts_and_supports_by_total_are_for_scorecards_only():
    tree = hr.OptimalTreeClassifier(max_depth=1, schema=hr.Schema(AGE, LABEL)).fit(TABLE[["age"]], ["no"] * 4)
    for arguments in ({"counts": "bins"}, {"supports": {0: 1}}):
        with pytest.raises(ValueError, match="scorecard"):
            reconstruction(tree, **arguments)


def test_results_by_row_need_totals():
    card = CARDS["two classes"][0]
    result = reconstruction(card, data=TABLE)
    assert result.row_ratios.tolist() == pytest.approx([2 / 3, 2 / 3, log2(3) / 3, 2 / 3])
    assert [group["group"] for group in result.by_group("smoker")] == ["true", "false"]
    with pytest.raises(ValueError, match="totals"):
        _ = reconstruction(card, data=TABLE, counts="bins").row_ratios
    with pytest.raises(ValueError, match="uncertainty"):
        result.dist()


def test_a_tally_equals_its_rows():
    card = CARDS["two classes"][0]
    rows = pd.concat([TABLE, TABLE, TABLE.iloc[:1]], ignore_index=True)
    tally = hr.Tally.count(rows, ["no"] * len(rows), card.schema)
    for counts in ("totals", "bins", "both"):
        of_tally, of_rows = (reconstruction(card, data=data, counts=counts) for data in (tally, rows))
        assert of_tally.entropy_bounds == pytest.approx(of_rows.entropy_bounds)
        assert of_tally.n_rows == len(rows)


def test_more_attributes_of_a_whole_schema_remain_unknown():
    card = CARDS["two classes"][0]
    whole = hr.Schema({**ATTRIBUTES}, LABEL)
    wide = TABLE.assign(ward="a", dose=0.0)
    for counts in ("totals", "bins", "both"):
        more, less = (
            reconstruction(card, whole, data=wide, counts=counts),
            reconstruction(card, data=TABLE, counts=counts),
        )
        assert more.entropy_bits == pytest.approx(less.entropy_bits + 4 * log2(3 * 2))
    for schema in (hr.Schema(AGE, LABEL), hr.Schema({**ATTRIBUTES, "age": hr.Integer(0, 3, cuts=(1,))}, LABEL)):
        with pytest.raises(SchemaError, match="declared as in the scorecard"):
            reconstruction(card, schema, data=TABLE)
    with pytest.raises(TypeError, match="Schema"):
        reconstruction(card, "schema", data=TABLE)


def test_scorecards_have_no_boxes_for_other_audits():
    card = CARDS["two classes"][0]
    with pytest.raises(ValueError, match="scorecard"):
        ProbabilisticDataset.of(reconstruction(card, data=TABLE))
    for refuse in (lambda: ProbabilisticDataset.of(card), lambda: joint_reconstruction([card], TABLE)):
        with pytest.raises((TypeError, ValueError), match="scorecard"):
            refuse()


def test_the_text_states_what_is_known():
    card = CARDS["two classes"][0]
    totals, bins, both = (str(reconstruction(card, data=TABLE, counts=name)) for name in ("totals", "bins", "both"))
    assert "if the total of each row is known, 1.9 bits remain" in " ".join(totals.split())
    assert "total 1" in totals
    assert "numbers of rows by bin, 2.3 bits remain" in " ".join(bins.split())
    assert "unknown" not in bins
    assert "numbers of rows by bin, and if the total of each row is known" in " ".join(both.split())
    data = reconstruction(card, data=TABLE, counts="both").to_dict()
    assert data["known"] == "both"
    assert data["entropy_bounds"][1] == data["entropy_bits"]


def test_the_text_lists_only_the_totals_with_the_least_entropy(monkeypatch):
    monkeypatch.setattr(result_module, "_MOST_LINES", 1)
    result = reconstruction(CARDS["two classes"][0], data=TABLE)
    shown = [row for row in result.table if f"{row['condition']} " in str(result)]
    assert len(shown) == 1 < len(result.table)
    assert shown[0]["bits"] == min(result.bits)
    assert f"1 of {len(result.table)} totals" in str(result)
