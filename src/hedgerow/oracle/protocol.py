"""The protocol of oracles in this process and of remote curators, as learners use it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from hedgerow.errors import ArgumentTypeError
from hedgerow.hypotheses.hypothesis import Hypothesis
from hedgerow.oracle.answers import ClassCounts, ErrorCounts, ErrorRatios, LevelSums, RowCounts, RowShares
from hedgerow.oracle.release_forms import Release
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import ChargeNote, add_charge_note


@runtime_checkable
class MarginalOracle(Protocol):
    """An oracle that learners can ask: `hedgerow.Oracle`, or an oracle of a curator's service."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the target."""
        ...

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes; the second of two is the positive class. For a number, False (low) and True (high)."""
        ...

    @property
    def label(self) -> Target:
        """The name of the labels with their classes, or the number."""
        ...

    @property
    def queries_left(self) -> int:
        """The number of questions left."""
        ...

    @property
    def release(self) -> Release:
        """The form of the answers."""
        ...

    @property
    def unit(self) -> Unit | None:
        """The unit of privacy; None for one row."""
        ...

    @property
    def privacy(self) -> PrivacyCard:
        """The charges so far."""
        ...

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return the scale λ of the noise on a count, for attributes with these numbers of bins.

        The standard deviation of the noise is ``√2·λ``, as a root mean square over attributes. λ is 0 for exact
        answers.
        """
        ...

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Raise the errors of `error_marginals` for a hypothesis without charging anything."""

    def marginals(self, bins: Schema) -> RowCounts | RowShares:
        """Return noisy counts of the rows in each bin."""
        ...

    def class_marginals(self, bins: Schema) -> ClassCounts:
        """Return noisy counts of the rows of each class in each bin."""
        ...

    def level_marginals(self, bins: Schema) -> LevelSums:
        """Return, for an oracle of a number, noisy sums of the levels of the rows in each bin."""
        ...

    def error_marginals(self, bins: Schema, hypothesis: Hypothesis) -> ErrorCounts | ErrorRatios:
        """Return noisy counts, by bin, of the rows that a hypothesis misclassifies and classifies correctly."""
        ...


def charged_for_answers(oracle: MarginalOracle) -> Fraction:
    """Return the ε that an oracle has charged so far."""
    return oracle.privacy.epsilon or Fraction(0)


def note_answers(error: BaseException, oracle: MarginalOracle, before: Fraction) -> None:
    """Add a note to an error with the ε that an oracle has charged since `before`."""
    charged = charged_for_answers(oracle) - before
    if charged > 0:
        add_charge_note(error, ChargeNote(f"The epsilon of {amount_text(charged)} stays charged."))


def check_oracle(oracle: object, y: object) -> None:
    if y is not None:
        raise ArgumentTypeError("y must be None: the labels stay with the oracle. Call fit(X, oracle=oracle).")
    if not isinstance(oracle, MarginalOracle):
        raise ArgumentTypeError(f"oracle must be an Oracle, got {type(oracle).__name__}; see hedgerow.Oracle.")
