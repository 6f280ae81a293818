"""Result of a reconstruction audit: the residual uncertainty about the training rows given a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil, fsum, isnan, log2, prod
from textwrap import fill
from typing import Any, Literal

import numpy as np

from hedgerow.audit.counting.regions import Region, count_rows_by_bin
from hedgerow.audit.entropy.bin_rows import arrangement_bits
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.inference.labelled import distinct, label_values, once_a_unit
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.audit.plot import residual_entropy_curve
from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally
from hedgerow.text.axes import Axes
from hedgerow.text.language import N_
from hedgerow.text.messages import aligned, describe_argument
from hedgerow.text.values import quoted_text

_MOST_LINES = 20  # the most totals of a scorecard that are printed
VIEWS = {
    "exact": N_("Rows in each region: the exact leaf counts that the model stores."),
    "noisy": N_("Rows in each region: the noisy counts released with the model, as its readers see them."),
    "weighted": N_(
        "Rows in each region are weighted: a row that was sampled several times counts several times. These copies are "
        "not independent, so the total entropy is too large."
    ),
    "given": N_("Rows in each region: as passed in `supports`."),
    "data": N_("Rows in each region were counted from the data: for the curator's eyes only, not for release."),
}
_TOTAL_VIEWS = {
    "given": N_("Rows of each total: as passed in `supports`."),
    "data": N_("Rows of each total were counted from the data: for the curator's eyes only, not for release."),
}
BIN_VIEWS = {
    "exact": N_("Rows in each bin: the exact numbers that the model stores."),
    "noisy": N_("Rows in each bin: the noisy numbers released with the model, as its readers see them."),
    "data": N_("Rows in each bin were counted from the data: for the curator's eyes only, not for release."),
}


@dataclass(frozen=True, repr=False, eq=False)
class Reconstruction:
    """Residual uncertainty about a model's training rows, given the model. **Private** if it was measured with rows.

    Attributes
    ----------
    schema, domain : Schema, Domain
        The public schema, and the possible rows without the model.
    conditions, regions : tuple of str, tuple of Region
        The model's regions (leaves, rules): their conditions, and each as a box without earlier boxes. For a scorecard,
        the conditions are its totals, or "always" if only rows by bin are known, and `regions` is empty.
    possible_rows : tuple of int
        The number of possible rows in each region.
    bits : tuple of float
        The entropy of a row in each region, in bits: log2 of the possible rows, or less with a prior. NaN for a region
        without a possible row.
    supports : tuple of int
        The number of rows of the table in each region.
    view : {"exact", "noisy", "weighted", "given", "data"}
        The origin of the supports.
    prior_bits : float, optional
        The entropy of a row under the prior, without the model, in bits. None without a prior.
    note : str
        A note if the data do not match the counts that the model stores, so that they cannot be the training rows.
    known : {"regions", "totals", "bins", "both"}
        The numbers of rows that the reader knows: by region, or for a scorecard by total, by bin of each attribute with
        points, or both.
    table_bits : tuple of float, optional
        Bounds of the entropy of the table if the rows by bin are known, so that its rows are dependent.
    """

    schema: Schema
    domain: Domain
    conditions: tuple[str, ...]
    regions: tuple[Region, ...]
    possible_rows: tuple[int, ...]
    bits: tuple[float, ...]
    supports: tuple[int, ...]
    view: str
    prior_bits: float | None = None
    _places: Index | None = None
    _data: Any = None
    _rows: Integers | None = None
    note: str = ""
    known: Literal["regions", "totals", "bins", "both"] = "regions"
    table_bits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.domain.possible_rows < 2:
            raise ArgumentError("the domain has only one possible row, so its uncertainty is not defined.")
        if not self.n_rows:
            raise ArgumentError("the supports must contain at least one row.")
        if any(count and isnan(bits) for count, bits in zip(self.supports, self.bits, strict=True)):
            raise ArgumentError("a region with rows has no possible row; correct the schema, prior or supports.")

    @property
    def n_rows(self) -> int:
        """The number of rows: the sum of the supports."""
        return sum(self.supports)

    @cached_property
    def entropy_bits(self) -> float:
        """The residual entropy ``H = Σ_j C_j · bits_j`` (eq. 11, 16), given **which row is in which region**.

        If rows by bin are known, it is the upper bound of `entropy_bounds`.
        """
        if self.table_bits is not None:
            return self.table_bits[1]
        return fsum(count * bits for count, bits in zip(self.supports, self.bits, strict=True) if count)

    @property
    def entropy_bounds(self) -> tuple[float, float]:
        """A lower and an upper bound of the residual entropy; equal, except for a scorecard with ``counts="both"``."""
        return (self.entropy_bits, self.entropy_bits) if self.table_bits is None else self.table_bits

    @property
    def uncertainty(self) -> float:
        """Dist_G (eq. 2): `entropy_bits` divided by the entropy without the model.

        1 means that nothing is disclosed, and 0 that all rows are disclosed.
        """
        return self.entropy_bits / (self.n_rows * self.domain.bits)

    @cached_property
    def unplaced_bits(self) -> float:
        """The entropy of the ordered table if **the regions of the rows are unknown**: ``H + log2(n! / Π_j C_j!)``."""
        return self.entropy_bits + arrangement_bits(self.supports)

    @property
    def unplaced_uncertainty(self) -> float:
        """`unplaced_bits` divided by the entropy without the model."""
        return self.unplaced_bits / (self.n_rows * self.domain.bits)

    @property
    def ratios(self) -> tuple[float, ...]:
        """The entropy ratio of each region: a row's residual entropy divided by its entropy without the model."""
        return tuple(bits / self.domain.bits for bits in self.bits)

    @property
    def row_ratios(self) -> Floats:
        """The entropy ratio of each row of the data; for a tally, sorted by pattern. **Private**."""
        ratios = self._entropy_ratios()
        return ratios if self._rows is None else np.repeat(ratios, self._rows)

    def _entropy_ratios(self) -> Floats:
        if self.known == "bins":
            raise ArgumentError("rows by bin have no results by row; use counts='totals'.")
        if self._places is None:
            raise ArgumentError("results by row need the rows; call reconstruction(model, schema, data=...).")
        return np.array(self.ratios)[self._places]

    def dist(self) -> float:
        """Return Dist (Definition 2): the mean, over attributes, of residual entropy divided by the domain's entropy.

        Attributes with a single possible value are ignored. ValueError with a prior, or if a region with rows is not a
        box, or for a scorecard.
        """
        if self.known != "regions":
            raise ArgumentError(
                "Dist (Definition 2) is not defined for a scorecard, whose totals make attributes dependent; use "
                "`uncertainty`."
            )
        if self.prior_bits is not None:
            raise ArgumentError("Dist (Definition 2) is not defined with a prior; use `uncertainty`.")
        weights, total = self.domain.weights, 0.0
        full = [log2(sum(bins)) for bins in weights]
        for region, support in zip(self.regions, self.supports, strict=True):
            if support:
                counts = count_rows_by_bin(region, weights)
                values = [sum(w for w, n in zip(*both, strict=True) if n) for both in zip(weights, counts, strict=True)]
                if prod(values) != sum(counts[0]):  # not a box
                    problem = "Dist is not defined, since attributes are dependent in a region"
                    raise ArgumentError(f"{problem}; use `uncertainty`.")
                total += support * fsum(log2(v) / bits for v, bits in zip(values, full, strict=True) if bits)
        return total / (self.n_rows * sum(1 for bits in full if bits))

    def curve(self) -> tuple[Floats, Floats]:
        """Return the increasing entropy ratios, and the share of rows with at most each ratio (PDR, Figure 4)."""
        occupied = sorted((i for i, count in enumerate(self.supports) if count), key=self.ratios.__getitem__)
        ratios, ends = np.unique([self.ratios[i] for i in occupied], return_index=True)
        below = np.cumsum([self.supports[i] for i in occupied])
        last = np.append(ends[1:], len(occupied)) - 1
        return ratios, below[last] / self.n_rows

    def loss_of_most_exposed(self, share: float = 0.05) -> float:
        """Return the smallest entropy loss, as a share, among the `share` of rows with the lowest entropy ratios."""
        if not 0 < share <= 1:
            raise ArgumentError(f"share must be above 0 and at most 1, got {describe_argument(share)}.")
        ratios, below = self.curve()
        return float(1 - ratios[np.searchsorted(below, ceil(share * self.n_rows) / self.n_rows - 1e-12)])

    def by_group(self, column: Any) -> list[dict[str, Any]]:
        """Return a record for each group of rows, the lowest mean entropy ratio first. **Private**.

        `column` is an attribute, whose bins are the groups; another column of a frame; or the group of each row. A
        record has ``group``, ``rows``, ``uncertainty`` (the mean entropy ratio of its rows) and ``lowest`` (the lowest
        entropy ratio).
        """
        ratios = self._entropy_ratios()
        rows = np.ones(len(ratios), dtype=np.int64) if self._rows is None else self._rows
        names, codes = self._groups(column)
        if len(codes) != len(ratios):
            raise DomainError(f"column must have one group for each of the {len(ratios)} rows, got {len(codes)}.")
        records = [
            {
                "group": name,
                "rows": int(rows[codes == code].sum()),
                "uncertainty": float(np.average(ratios[codes == code], weights=rows[codes == code])),
                "lowest": float(ratios[codes == code].min()),
            }
            for code, name in enumerate(names)
            if (codes == code).any()
        ]
        return sorted(records, key=lambda record: record["uncertainty"])

    def _groups(self, column: Any) -> tuple[Sequence[Any], Index]:
        if isinstance(self._data, Tally):
            name = column if isinstance(column, str) else None  # a sequence has the rows' groups, which are private
            if name not in self.schema:
                attributes = ", ".join(self.schema.names)
                raise DomainError(f"column must be one of the attributes {attributes}.", column=name)
            return self.schema[column].bins, self._data.bins([column])[column].astype(np.intp)
        if not isinstance(column, str):
            return distinct(label_values(column))
        return groups_of(Table.of(self._data), self.schema, column)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A record for each region: ``condition``, ``worlds`` (its possible rows), ``bits``, ``ratio``, ``support``."""
        return [
            {"condition": condition, "worlds": possible, "bits": bits, "ratio": ratio, "support": support}
            for condition, possible, bits, ratio, support in zip(
                self.conditions, self.possible_rows, self.bits, self.ratios, self.supports, strict=True
            )
        ]

    @property
    def summary(self) -> str:
        """The result in one paragraph, without formulas."""
        ratios, _ = self.curve()
        text = (
            f"Without the model, each of {_rows(self.n_rows)} can be any of {count_text(self.domain.possible_rows)} "
            f"possible rows ({self.domain.bits:.1f} bits). {_KNOWN[self.known]}, {self._left} bits remain for each row "
            f"on average. This is {self._most}{100 * self.uncertainty:.1f} % of the entropy without the model (Dist_G "
            f"{self._relation} {self.uncertainty:.3f}). "
        )
        if self.known != "bins":
            share = f"{self._most}{100 * self.unplaced_uncertainty:.1f} %"
            text += f"If the {_NOUN[self.known]} are unknown, {share} remain. "
        if self.prior_bits is not None:
            text += f"The public marginals alone leave {self.prior_bits:.1f} bits for each row. "
        if self.known == "both":
            text += "Entropies of single rows are those given their totals alone."
        elif self.known == "bins":
            text += (
                f"Each row alone keeps {100 * ratios[0]:.1f} %; the rows depend on each other, since their numbers by "
                "bin are known."
            )
        elif len(ratios) == 1:
            text += f"All rows lose {100 * (1 - ratios[0]):.1f} % of their entropy."
        else:
            text += (
                f"The most exposed 5 % of rows lose at least {100 * self.loss_of_most_exposed():.0f} % of their "
                f"entropy, the least exposed row loses {100 * (1 - ratios[-1]):.0f} %."
            )
        known = sum(count for count, possible in zip(self.supports, self.possible_rows, strict=True) if possible == 1)
        subject = "model" if self.known == "regions" else "scorecard"
        exact = f" The {subject} discloses {_rows(known)} exactly, since only one row is possible." if known else ""
        return text + exact + f" {self.note}".rstrip()

    @property
    def _left(self) -> str:
        """The mean residual entropy of a row in bits, as text: a number, or an upper bound with a lower bound."""
        low, high = (bits / self.n_rows for bits in self.entropy_bounds)
        return f"{high:.1f}" if low == high else f"at most {high:.1f} (at least {low:.1f})"

    @property
    def _most(self) -> str:
        low, high = self.entropy_bounds
        return "" if low == high else "at most "

    @property
    def _relation(self) -> str:
        """The relation between Dist_G and `uncertainty`, which is an upper bound if the entropy has bounds."""
        return "≤" if self._most else "="

    @property
    def origin(self) -> str:
        """The origin of the numbers of rows, in a sentence."""
        views = {"regions": VIEWS, "bins": BIN_VIEWS}
        return views.get(self.known, _TOTAL_VIEWS)[self.view]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data; numbers with more than 4,300 digits are rounded and given as text."""
        return {
            "uncertainty": self.uncertainty,
            "entropy_bits": self.entropy_bits,
            "entropy_bounds": list(self.entropy_bounds),
            "unplaced_bits": self.unplaced_bits,
            "rows": self.n_rows,
            "domain_worlds": _json_number(self.domain.possible_rows),
            "domain_bits": self.domain.bits,
            "prior_bits": self.prior_bits,
            "independent_bits": self.domain.independent_bits,
            "known": self.known,
            "supports": self.view,
            "loss_of_most_exposed_5_percent": self.loss_of_most_exposed(),
            "regions": [{key: _json_number(value) for key, value in row.items()} for row in self.table],
            "summary": self.summary,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the distribution function of the rows' entropy ratios (PDR, Figure 4), and return the axes."""
        ratios, below = self.curve()
        caption = f"Dist_G {self._relation} {self.uncertainty:.3f}. {_KNOWN[self.known]}. {self.origin}"
        return residual_entropy_curve(ratios, below, self.uncertainty, caption, ax)

    def __str__(self) -> str:
        place = "region" if self.known in ("regions", "bins") else "total"
        lines = [[place, "possible rows", "entropy (bits)", "entropy ratio", "rows"]]
        rows, notes = self.table, self._few
        if place == "total" and len(rows) > _MOST_LINES:
            shown = f"{_MOST_LINES} of {len(rows)} totals, with the least entropy"
            notes = [f"The table has {shown}; the attribute `table` (--json) has all.", *notes]
            rows = sorted(rows, key=lambda row: row["bits"])[:_MOST_LINES]
        for row in rows:
            own = [count_text(row["worlds"]), f"{row['bits']:.1f}", f"{row['ratio']:.3f}", f"{row['support']:,}"]
            lines.append([row["condition"], *own])
        return "\n".join([fill(self.summary, 110), "", *aligned(lines, left=1), "", *notes, self.origin])

    @property
    def _few(self) -> list[str]:
        """A line on regions with few rows or units, whose risk entropy does not measure, if supports count rows."""
        units = None if self._places is None else once_a_unit(self.schema, self._data, self._places)
        counts = self.supports if units is None else np.bincount(units[0]).tolist()
        noun = (
            "rows" if units is None or self.schema.unit is None else f"units ({quoted_text(self.schema.unit.column)})"
        )
        is_exact = self.view not in ("noisy", "weighted") and self.known != "bins"
        few = [count for count in counts if is_exact and 0 < count < FEWEST_SAFE_ROWS]
        single = f" ({few.count(1)} with a single one)" if 1 in few else ""
        places, advice = (
            ("regions", "; use `hedgerow report` or leaf_risk.") if self.known == "regions" else ("totals", ".")
        )
        start = f"{len(few)} of {len(self.supports)} {places} {'has' if len(few) == 1 else 'have'}"
        line = f"{start} fewer than {FEWEST_SAFE_ROWS} {noun}{single}. Entropy does not measure this risk{advice}"
        return [line] if few else []

    def __repr__(self) -> str:
        return f"<Reconstruction: Dist_G {self._relation} {self.uncertainty:.3f} of {self.n_rows} rows>"


def groups_of(table: Table, schema: Schema | None, column: str) -> tuple[Sequence[Any], Index]:
    """Return the groups of a column and the group of each row: the bins of an attribute, or a column's own values."""
    if schema is not None and column in schema:
        return schema[column].bins, schema.encode(table, [column])[column].astype(np.intp)
    if table.names is None:
        known = "of the schema" if schema is None else ", ".join(schema.names)
        raise DomainError(f"the column must be one of the attributes {known}.", column=column)
    table.require([column])
    return distinct(label_values(table.data.get_column(column)))


_NOUN = {"regions": "regions of the rows", "totals": "totals of the rows", "both": "totals of the rows"}
_KNOWN = {
    "regions": "With the model, and if the region of each row is known",
    "totals": "With the scorecard, and if the total of each row is known",
    "bins": "With the scorecard and its numbers of rows by bin",
    "both": "With the scorecard and its numbers of rows by bin, and if the total of each row is known",
}


def whole_supports(supports: Sequence[int], expected: int) -> tuple[int, ...]:
    """Return numbers of rows as whole numbers, one for each region; ArgumentError otherwise."""
    problem = ArgumentTypeError("supports must be a sequence of whole numbers, one for each region.")
    values = guarded(lambda: list(supports), problem)
    if len(values) != expected:
        raise ArgumentError(f"supports must have one number for each of {expected} regions, got {len(values)}.")
    if not all(
        isinstance(n, (int, np.integer, float, np.floating)) and 0 <= n < 2**63 and float(n).is_integer()
        for n in values
    ):
        raise ArgumentError("supports must be whole numbers >= 0 and below 2^63.")
    return tuple(map(int, values))


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


_LONGEST = 10**4300  # smallest number that Python does not convert to or from text by default


def _json_number(value: Any) -> Any:
    """Return a number for JSON: NaN becomes null, and a whole number that is too long becomes text."""
    if isinstance(value, float) and isnan(value):
        return None
    return count_text(value) if isinstance(value, int) and value >= _LONGEST else value


def count_text(count: int) -> str:
    """Return a number of rows in full, or rounded to two digits if it is long."""
    if count < 10**12:
        return f"{count:,}"
    mantissa, exponent = f"{Decimal(count):.1e}".split("e")
    return f"{mantissa} × 10^{int(exponent)}"
