"""Sections on the model itself: what it says, and how often it is right by the counts that were released with it.

They are functions of the model and what it stores. Where that has a guarantee they are public; else they are for the
board.
"""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.models.model import Listing
from hedgerow.report.contents import Fact, Grid, Section
from hedgerow.report.promises import BY_FORM, NOT_STATED
from hedgerow.report.subject import Subject

MOST_ROWS = 300
"""The most rows of a table in a report."""
ROWS = "Give the rows: hedgerow report … --data FILE, or train=(X, y)."
"""How to measure what needs rows."""


def model(subject: Subject) -> Section:
    """Return the model, to be read."""
    released, form = subject.released, subject.form
    answer = "All of the model is below: whoever reads it, knows what it knows."
    grids: tuple[Grid, ...] = ()
    if released is not None:
        grids = tuple(map(_grid, released.listings()))
    elif subject.conditions:
        answer = "The way to each of its leaves is below. Which class a leaf predicts is not read of other libraries."
        grids = (_conditions(subject.conditions),)
    facts = (Fact("limits of use, as the form says", form.limits or NOT_STATED),)
    measure = "" if form.limits else BY_FORM
    if not grids:
        answer = "Not shown. The decision paths of this model are not read without a schema."
        measure = "Give the public schema: schema=."
    return Section(
        "model", "What does the model say, and where must it not be used?", answer, facts, grids, measure=measure
    )


def _grid(listing: Listing) -> Grid:
    return Grid(first_rows(listing.title, len(listing.rows)), listing.columns, listing.rows[:MOST_ROWS])


def _conditions(words: Sequence[str]) -> Grid:
    rows = tuple((f"{number}. {text}",) for number, text in enumerate(words[:MOST_ROWS], 1))
    return Grid(first_rows("The decision paths", len(words)), ("leaf",), rows)


def first_rows(title: str, count: int) -> str:
    """Return the title of a table that has the first of many rows alone, where there are more."""
    return title if count <= MOST_ROWS else f"{title}; the first {MOST_ROWS} of {count:,}"


def released_accuracy(subject: Subject) -> Section:
    """Return how often the model is right on its training rows, by the counts released with it."""
    question = "How often is the model right?"
    released = None if subject.released is None else subject.released.as_leaf_model
    if released is None or not released.has_counts or not subject.is_private:
        answer = "Not measured. No counts were released with the model, and rows are for the board's sheet alone."
        return Section("accuracy", question, answer, measure=f"{ROWS} Or fit with --release-counts.")
    known = [max(n, 0) for leaf in released.leaves if leaf.counts for n in leaf.counts]
    right = [
        max(leaf.counts[released.schema.classes.index(said)], 0)
        for leaf, said in zip(released.leaves, released.predictions, strict=True)
        if leaf.counts
    ]
    if not sum(known):
        return Section("accuracy", question, "Not measured. The released counts are all 0.", measure=ROWS)
    by_class = [
        sum(max(leaf.counts[k], 0) for leaf in released.leaves if leaf.counts)
        for k in range(len(released.schema.classes))
    ]
    share, base = sum(right) / sum(known), max(by_class) / sum(known)
    answer = (
        f"About {100 * share:.0f} of 100 training rows get their own class; always saying the commonest class would be "
        f"right for {100 * base:.0f} of 100. Both are by the noisy counts that were released."
    )
    facts = (
        Fact("accuracy on the training rows, by released counts", f"{share:.3f}", share),
        Fact("baseline: the commonest class", f"{base:.3f}", base),
    )
    notes = ("Accuracy on the rows that a model was learned from is larger than on others.",)
    return Section("accuracy", question, answer, facts, notes=notes, measure=f"For subgroups and held-out rows: {ROWS}")
