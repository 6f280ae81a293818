"""What learners ask of an oracle, wherever its target is: in this process, or with a curator elsewhere."""

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
    """An oracle that learners can ask: `hedgerow.Oracle`, or one of a curator's service."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the target's columns."""
        ...

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes; the second of two is the positive one. Of a number, whether it is high: False and True."""
        ...

    @property
    def label(self) -> Target:
        """The name of the labels, and the classes, or the number."""
        ...

    @property
    def queries_left(self) -> int:
        """Questions that will still be answered."""
        ...

    @property
    def release(self) -> Release:
        """The form of the answers."""
        ...

    @property
    def unit(self) -> Unit | None:
        """The unit that is protected; None for one row."""
        ...

    @property
    def privacy(self) -> PrivacyCard:
        """The charges so far."""
        ...

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return λ for attributes with these numbers of bins: ``√2·λ`` is the standard deviation of the noise.

        It is the noise on a count, as an average over attributes; 0 if answers are exact.
        """
        ...

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Check that `error_marginals` can be asked about a hypothesis, at no charge."""

    def marginals(self, bins: Schema) -> RowCounts | RowShares:
        """Answer how many rows are in each bin."""
        ...

    def class_marginals(self, bins: Schema) -> ClassCounts:
        """Answer how many rows of each class are in each bin."""
        ...

    def level_marginals(self, bins: Schema) -> LevelSums:
        """Answer, of a target that is a number, the sums of the levels of the rows in each bin."""
        ...

    def error_marginals(self, bins: Schema, hypothesis: Hypothesis) -> ErrorCounts | ErrorRatios:
        """Answer how many rows of each bin a hypothesis gets wrong, and how many it gets right."""
        ...


def charged_for_answers(oracle: MarginalOracle) -> Fraction:
    """Return the ε that an oracle has charged for its answers so far."""
    return oracle.privacy.epsilon or Fraction(0)


def note_answers(error: BaseException, oracle: MarginalOracle, before: Fraction) -> None:
    """Add a note to an error of what an oracle has charged for its answers, beyond `before`: it stays charged."""
    charged = charged_for_answers(oracle) - before
    if charged > 0:
        add_charge_note(error, ChargeNote(f"The epsilon of {amount_text(charged)} stays charged."))


def check_oracle(oracle: object, y: object) -> None:
    if y is not None:
        raise ArgumentTypeError("Expected no labels, which stay with their curator; got y. Call fit(X, oracle=oracle).")
    if not isinstance(oracle, MarginalOracle):
        raise ArgumentTypeError(f"oracle must be an Oracle, got {type(oracle).__name__}; see hedgerow.Oracle.")
