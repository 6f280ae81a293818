"""Residual uncertainty about the training rows given a model: the result of a reconstruction audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil, fsum, isnan, lgamma, log, log2, prod
from textwrap import fill
from typing import Any

import numpy as np

from hedgerow.audit.counting.regions import Region, count_rows_by_bin
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.inference.labelled import distinct, label_values, once_a_unit
from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.audit.plot import residual_entropy_curve
from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally
from hedgerow.text.axes import Axes
from hedgerow.text.messages import aligned, describe_argument
from hedgerow.text.values import quoted_text

VIEWS = {
    "exact": "Supports are the exact leaf counts that the model stores.",
    "noisy": (
        "Supports are the noisy counts released with the model: the view of its readers. The true supports differ."
    ),
    "weighted": (
        "Supports are weighted: a row drawn several times counts several times. They are not numbers of rows, nor are "
        "the copies independent, so the total entropy is too large."
    ),
    "given": "Supports are as given.",
    "data": "Supports are counted from the rows: for the curator's eyes only, not for release.",
}


@dataclass(frozen=True, repr=False, eq=False)
class Reconstruction:
    """Residual uncertainty about a model's training rows, given the model. **Private** if it was measured with rows.

    Attributes
    ----------
    schema, domain : Schema, Domain
        The public schema, and the possible rows without the model.
    conditions, regions : tuple of str, tuple of Region
        The model's regions (leaves, rules) in words, and as boxes less earlier boxes.
    possible_rows : tuple of int
        The number of different rows in each region.
    bits : tuple of float
        The entropy of a row in each region, in bits: log2 of the possible rows, or less if there is a prior. NaN where
        no row is possible.
    supports : tuple of int
        Rows of the table in each region.
    view : {"exact", "noisy", "weighted", "given", "data"}
        The origin of the supports.
    prior_bits : float, optional
        The entropy of a row, in bits, under the prior and without the model. None without a prior.
    note : str
        That the data cannot be the training rows, where the counts that the model stores say so.
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

    def __post_init__(self) -> None:
        if self.domain.possible_rows < 2:
            raise ArgumentError("expected a domain of two or more rows, got one; uncertainty is undefined.")
        if not self.n_rows:
            raise ArgumentError("expected supports of at least one row, got none.")
        if any(count and isnan(bits) for count, bits in zip(self.supports, self.bits, strict=True)):
            raise ArgumentError("a region with rows has no possible row; correct the schema, prior or supports.")

    @property
    def n_rows(self) -> int:
        """The number of rows: the sum of the supports."""
        return sum(self.supports)

    @cached_property
    def entropy_bits(self) -> float:
        """The residual entropy ``H = Σ_j C_j · bits_j`` (eq. 11, 16), given **which row is in which region**."""
        return fsum(count * bits for count, bits in zip(self.supports, self.bits, strict=True) if count)

    @property
    def uncertainty(self) -> float:
        """Dist_G (eq. 2): `entropy_bits` as a share of the entropy without the model; 0: all disclosed, 1: nothing."""
        return self.entropy_bits / (self.n_rows * self.domain.bits)

    @cached_property
    def unplaced_bits(self) -> float:
        """The same if **which row is in which region is unknown**: ``H + log2(n! / Π_j C_j!)``, of a table in order."""
        return self.entropy_bits + (lgamma(self.n_rows + 1) - fsum(lgamma(c + 1) for c in self.supports)) / log(2)

    @property
    def unplaced_uncertainty(self) -> float:
        """`unplaced_bits` as a share of the entropy without the model."""
        return self.unplaced_bits / (self.n_rows * self.domain.bits)

    @property
    def ratios(self) -> tuple[float, ...]:
        """For each region, the entropy ratio of a row: its residual entropy as a share of that without the model."""
        return tuple(bits / self.domain.bits for bits in self.bits)

    @property
    def row_ratios(self) -> Floats:
        """The entropy ratio of each row of the data (of a tally: pattern by pattern): **private**."""
        ratios = self._entropy_ratios()
        return ratios if self._rows is None else np.repeat(ratios, self._rows)

    def _entropy_ratios(self) -> Floats:
        if self._places is None:
            raise ArgumentError("results by row require the rows; call reconstruction(model, schema, data=...).")
        return np.array(self.ratios)[self._places]

    def dist(self) -> float:
        """Return Dist (Definition 2): the mean over attributes of residual entropy as a share of that of the domain.

        Attributes with one possible value are left out. ValueError with a prior, or if a region with rows is no box.
        """
        if self.prior_bits is not None:
            raise ArgumentError("Dist (Definition 2) is not defined with a prior; use `uncertainty`.")
        weights, total = self.domain.weights, 0.0
        full = [log2(sum(bins)) for bins in weights]
        for region, support in zip(self.regions, self.supports, strict=True):
            if support:
                found = count_rows_by_bin(region, weights)
                values = [sum(w for w, n in zip(*both, strict=True) if n) for both in zip(weights, found, strict=True)]
                if prod(values) != sum(found[0]):  # no box
                    problem = "Dist is not defined, as attributes are dependent in some region"
                    raise ArgumentError(f"{problem}; use `uncertainty`.")
                total += support * fsum(log2(v) / bits for v, bits in zip(values, full, strict=True) if bits)
        return total / (self.n_rows * sum(1 for bits in full if bits))

    def curve(self) -> tuple[Floats, Floats]:
        """Return entropy ratios, increasing, and for each the share of rows with at most that ratio (PDR, Figure 4)."""
        occupied = sorted((i for i, count in enumerate(self.supports) if count), key=self.ratios.__getitem__)
        ratios, ends = np.unique([self.ratios[i] for i in occupied], return_index=True)
        below = np.cumsum([self.supports[i] for i in occupied])
        last = np.append(ends[1:], len(occupied)) - 1
        return ratios, below[last] / self.n_rows

    def loss_of_most_exposed(self, share: float = 0.05) -> float:
        """Return the least share of entropy lost among the `share` of rows of lowest entropy ratio."""
        if not 0 < share <= 1:
            raise ArgumentError(f"share must be above 0 and at most 1, got {describe_argument(share)}.")
        ratios, below = self.curve()
        return float(1 - ratios[np.searchsorted(below, ceil(share * self.n_rows) / self.n_rows - 1e-12)])

    def by_group(self, column: Any) -> list[dict[str, Any]]:
        """Return one record a group of rows, to compare the groups' residual entropy, the lowest first. **Private**.

        `column` is an attribute, whose bins are the groups; of a frame, another column, or the group of each row. A
        record has ``group``; ``rows``; ``uncertainty``, the mean entropy ratio of its rows; ``lowest``, the lowest one.
        """
        ratios = self._entropy_ratios()
        rows = np.ones(len(ratios), dtype=np.int64) if self._rows is None else self._rows
        names, codes = self._groups(column)
        if len(codes) != len(ratios):
            raise DomainError(f"expected one group for each of {len(ratios)} rows, got {len(codes)}.")
        found = [
            {
                "group": name,
                "rows": int(rows[codes == code].sum()),
                "uncertainty": float(np.average(ratios[codes == code], weights=rows[codes == code])),
                "lowest": float(ratios[codes == code].min()),
            }
            for code, name in enumerate(names)
            if (codes == code).any()
        ]
        return sorted(found, key=lambda record: record["uncertainty"])

    def _groups(self, column: Any) -> tuple[Sequence[Any], Index]:
        if isinstance(self._data, Tally):
            name = column if isinstance(column, str) else None  # a sequence holds the rows' groups: not to be quoted
            if name not in self.schema:
                raise DomainError(f"expected one of the attributes {', '.join(self.schema.names)}.", column=name)
            return self.schema[column].bins, self._data.bins([column])[column].astype(np.intp)
        if not isinstance(column, str):
            return distinct(label_values(column))
        return groups_of(Table.of(self._data), self.schema, column)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One record a region: ``condition``, ``worlds`` (its possible rows), ``bits``, ``ratio``, ``support``."""
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
            f"Without the model, each of {_rows(self.n_rows)} is one of {count_text(self.domain.possible_rows)} "
            f"possible rows ({self.domain.bits:.1f} bits). Given the model, the residual entropy is "
            f"{self.entropy_bits / self.n_rows:.1f} bits a row on average, {100 * self.uncertainty:.1f} % of that "
            f"(Dist_G = {self.uncertainty:.3f}), given which row is in which region; "
            f"{100 * self.unplaced_uncertainty:.1f} % where that is unknown. "
        )
        if self.prior_bits is not None:
            text += f"Given the public marginals alone, it is {self.prior_bits:.1f} bits. "
        if len(ratios) == 1:
            text += f"All rows lose {100 * (1 - ratios[0]):.1f} % of their entropy."
        else:
            text += (
                f"The most exposed 5 % of rows lose {100 * self.loss_of_most_exposed():.0f} % of their entropy or "
                f"more, the least exposed {100 * (1 - ratios[-1]):.0f} %."
            )
        known = sum(count for count, possible in zip(self.supports, self.possible_rows, strict=True) if possible == 1)
        return text + (f" Disclosed exactly: {_rows(known)}." if known else "") + f" {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data; numbers of rows of more than 4,300 digits as text, rounded."""
        return {
            "uncertainty": self.uncertainty,
            "entropy_bits": self.entropy_bits,
            "unplaced_bits": self.unplaced_bits,
            "rows": self.n_rows,
            "domain_worlds": _json_number(self.domain.possible_rows),
            "domain_bits": self.domain.bits,
            "prior_bits": self.prior_bits,
            "independent_bits": self.domain.independent_bits,
            "supports": self.view,
            "loss_of_most_exposed_5_percent": self.loss_of_most_exposed(),
            "regions": [{key: _json_number(value) for key, value in row.items()} for row in self.table],
            "summary": self.summary,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution function of the rows' entropy ratios (PDR, Figure 4), and return the axes."""
        ratios, below = self.curve()
        caption = f"Dist_G = {self.uncertainty:.3f}, given which row is in which region. {VIEWS[self.view]}"
        return residual_entropy_curve(ratios, below, self.uncertainty, caption, ax)

    def __str__(self) -> str:
        lines = [["region", "possible rows", "entropy (bits)", "ratio", "support"]]
        for row in self.table:
            own = [count_text(row["worlds"]), f"{row['bits']:.1f}", f"{row['ratio']:.3f}", f"{row['support']:,}"]
            lines.append([row["condition"], *own])
        return "\n".join([fill(self.summary, 110), "", *aligned(lines, left=1), "", *self._few, VIEWS[self.view]])

    @property
    def _few(self) -> list[str]:
        """A line on regions of few rows or units, of which entropy says nothing, where supports are numbers of rows."""
        units = None if self._places is None else once_a_unit(self.schema, self._data, self._places)
        held = self.supports if units is None else np.bincount(units[0]).tolist()
        what = (
            "rows" if units is None or self.schema.unit is None else f"units ({quoted_text(self.schema.unit.column)})"
        )
        few = [] if self.view in ("noisy", "weighted") else [count for count in held if 0 < count < FEWEST_SAFE_ROWS]
        alone = f", {few.count(1)} of them a single one" if 1 in few else ""
        start = f"{len(few)} of {len(self.supports)} regions {'has' if len(few) == 1 else 'have'}"
        said = f"{start} fewer than {FEWEST_SAFE_ROWS} {what}{alone}: entropy does not tell, `hedgerow report` does."
        return [said] if few else []

    def __repr__(self) -> str:
        return f"<Reconstruction: Dist_G = {self.uncertainty:.3f} of {self.n_rows} rows>"


def groups_of(table: Table, schema: Schema | None, column: str) -> tuple[Sequence[Any], Index]:
    """Return the groups of a column and the group of each row: the bins of an attribute, or a column's own values."""
    if schema is not None and column in schema:
        return schema[column].bins, schema.encode(table, [column])[column].astype(np.intp)
    if table.names is None:
        known = "of the schema" if schema is None else ", ".join(schema.names)
        raise DomainError(f"expected one of the attributes {known}, got another name.", column=column)
    table.require([column])
    return distinct(label_values(table.data.get_column(column)))


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


_LONGEST = 10**4300  # the least number that Python neither writes nor reads in full, by default


def _json_number(value: Any) -> Any:
    """Return a number as JSON can hold it: NaN is null, and a whole number that is too long is text."""
    if isinstance(value, float) and isnan(value):
        return None
    return count_text(value) if isinstance(value, int) and value >= _LONGEST else value


def count_text(count: int) -> str:
    """Return a number of rows in full, or its leading digits where it is too long to read, or for Python to print."""
    if count < 10**12:
        return f"{count:,}"
    mantissa, exponent = f"{Decimal(count):.1e}".split("e")
    return f"{mantissa} × 10^{int(exponent)}"
