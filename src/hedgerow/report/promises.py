"""Sections of the public sheet on privacy: the guarantee, its limits, every charge, earlier releases, and the noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from math import ceil, exp

from scipy.special import expit, logit

from hedgerow.privacy.card import SOFTWARE
from hedgerow.privacy.charge import Charge, amount_text, total_rho
from hedgerow.privacy.unit import Unit, name_of
from hedgerow.report.contents import Fact, Grid, Kind, Section
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import number_of
from hedgerow.text.values import quoted_text

PRIORS = (0.01, 0.1, 0.5, 0.9)
"""Suspicions whose largest growth is printed."""
NOT_STATED = "Not stated."
"""The answer where a form says nothing."""
BY_FORM = "Fill in the form: hedgerow report --new-form form.yaml, then hedgerow report … --form form.yaml."
"""How to state what is not stated."""
_WORDS = (
    "ε (epsilon) bounds how much more likely any output becomes, whatever it is, if one row (or, where the card says "
    "so, all rows of one person) is added to the table or taken out of it: by a factor of at most e^ε. The bound holds "
    "for every attack, whoever carries it out, whatever they know besides, and for ever.",
    "δ (delta) is what the bound may miss: the release differs, with a probability of at most δ, from one whose odds ε "
    "bounds. With δ = 0 there is no such exception.",
    "ρ (rho) is another measure of the same loss, in which many small charges add up to less.",
)


_GENERAL = (
    "What the model says about people in general is no disclosure in this sense: it can be learned without any one of "
    "them.",
)


def guarantee(subject: Subject) -> Section:
    """Return what is promised to a person in the table, in odds."""
    card, unit = subject.card, subject.form.unit or NOT_STATED
    facts = [
        Fact("one row is", unit),
        Fact("neighbouring tables", card.neighbours if card.is_private else "no guarantee speaks of any"),
        Fact("guarantee, as the card says", card.guarantee),
    ]
    question = "What is promised to a person in the table?"
    if card.epsilon is None or not card.is_private:
        answer = (
            "Nothing is promised. The model has no guarantee of differential privacy, so what it discloses is a matter "
            "of measurements, and of attacks that nobody has thought of yet."
        )
        return Section("guarantee", question, answer, tuple(facts), measure="" if subject.form.unit else BY_FORM)
    epsilon, delta = card.epsilon, card.delta or Fraction(0)
    facts += [Fact("epsilon", amount_text(epsilon), float(epsilon)), Fact("delta", amount_text(delta), float(delta))]
    rho = total_rho(card.planned)
    facts += [] if rho is None else [Fact("rho", amount_text(rho), float(rho))]
    facts += [Fact("no output becomes more likely by a factor of more than", factor_text(epsilon))]
    half = percent_up(largest_belief(0.5, epsilon))
    answer = (
        f"Whoever thinks it as likely as not (50 %) that {_in_question(card.unit)} in the table can, after reading the "
        f"model, be at "
        f"most {half} sure, however they attack it"
        + (f"; apart from a chance of at most {amount_text(delta)}." if delta else ".")
    )
    notes = (_odds_of(card.unit), *_GENERAL)
    return Section(
        "guarantee",
        question,
        answer,
        tuple(facts),
        (_suspicions(epsilon, card.unit),),
        notes,
        _WORDS,
        "" if subject.form.unit else BY_FORM,
    )


def _in_question(unit: Unit | None) -> str:
    """Return what may be in the table or not, with its verb."""
    return "a row is" if unit is None else f"the rows of one {quoted_text(unit.column)} are"


def _odds_of(unit: Unit | None) -> str:
    if unit is None:
        return (
            "The odds are of a row being in the table or not. Whoever knows that a person is in it, and guesses "
            "between two values of the row, gains up to twice ε: one row out and another one in. Several rows of one "
            "person multiply ε by their number."
        )
    return (
        f"The odds are of all rows of one {quoted_text(unit.column)} being in the table or not, however many they are. "
        "Whoever knows that they are in it, and guesses between two versions of them, gains up to twice ε."
    )


def _suspicions(epsilon: Fraction, unit: Unit | None) -> Grid:
    rows = tuple((percent_up(prior), percent_up(largest_belief(prior, epsilon))) for prior in PRIORS)
    return Grid(
        f"How far a suspicion that {_in_question(unit)} in the table can rise", ("before", "after, at most"), rows
    )


def is_of_rows(subject: Subject) -> bool:
    """Return whether the schema is of the rows without a guarantee, so that its bounds and cuts are for the board."""
    schema = subject.schema
    return schema is not None and any(
        [schema.no_guarantee_reason, *(charge.no_guarantee_reason for charge in schema.charges)]
    )


def unprotected(subject: Subject, kind: Kind) -> Section:
    """Return what the guarantee does not cover: the schema, its cut points and where they come from."""
    schema, form = subject.schema, subject.form
    facts = [Fact("cut points, as the form says", form.cut_points or NOT_STATED)]
    facts += [Fact("not covered, as the card says", note) for note in subject.card.notes]
    answer = (
        "Everything that was declared about the table counts as known to all: the names of its columns, their bounds, "
        "categories and cut points, and the classes. Nothing hides them."
    )
    question = "What is not protected?"
    if schema is None:
        return Section("unprotected", question, answer, tuple(facts), measure="Give the public schema: schema=.")
    if kind == "public" and is_of_rows(subject):
        answer = (
            "The schema itself was taken from the rows and has no guarantee: it is on the sheet for the board alone."
        )
        return Section("unprotected", question, answer, tuple(facts))
    facts.insert(0, Fact("schema", f"{number_of(len(schema), 'attribute')}, digest {schema.digest}", schema.digest))
    grid = Grid(
        "The schema, and where its cut points come from", ("attribute", "domain", "cut points"), _sources(schema)
    )
    return Section("unprotected", question, answer, tuple(facts), (grid,), measure="" if form.cut_points else BY_FORM)


def _sources(schema: Schema) -> tuple[tuple[str, str, str], ...]:
    declared = "learned from the rows under a charge, or declared" if schema.charges else "declared"
    if schema.no_guarantee_reason:
        declared = f"no guarantee: {schema.no_guarantee_reason}"
    found: list[tuple[str, str, str]] = []
    for name, attribute in schema.attributes:
        source = "none: categories are declared"
        if isinstance(attribute, (Integer, Real)):
            source = "the default grid of the declared bounds" if attribute.has_default_cuts else declared
        found.append((name, attribute.domain, source))
    return tuple(found)


def charges(subject: Subject, kind: Kind) -> Section:
    """Return the mechanisms, and every charge on the card: without a guarantee their list depends on the rows."""
    card = subject.card
    question = "What was computed of the rows, and at what price?"
    if not card.charges:
        answer = "No mechanism of differential privacy was charged: what was computed of the rows is not bounded."
        return Section("charges", question, answer)
    if not card.is_private and kind == "public":
        spent = f"epsilon = {amount_text(card.epsilon or 0)}, delta = {amount_text(card.delta or 0)}"
        answer = (
            f"{spent} were charged in all, without a guarantee. What for, charge by charge, is on the sheet for the "
            "board: it depends on the rows."
        )
        return Section("charges", question, answer)
    answer = (
        f"{len(card.charges)} {_plural('release', card.charges)} of the rows went into this model. All are listed, and "
        "what they cost adds up to what is promised above."
    )
    return Section("charges", question, answer, grids=(_priced("Every charge, in order", card.charges),))


def _priced(title: str, found: Sequence[Charge]) -> Grid:
    rows = tuple(
        (
            charge.purpose,
            charge.mechanism or "not named",
            amount_text(charge.epsilon),
            amount_text(charge.delta),
            "unknown" if charge.zcdp is None else amount_text(charge.zcdp),
            _remark(charge),
        )
        for charge in found
    )
    return Grid(title, ("what", "mechanism", "epsilon", "delta", "rho", "remark"), rows)


def _remark(charge: Charge) -> str:
    declared = ["declared by the schema's file"] if charge.declared else []
    return "; ".join(
        [*declared, *([f"no guarantee: {charge.no_guarantee_reason}"] if charge.no_guarantee_reason else [])]
    )


def earlier(releases: Releases | None) -> Section:
    """Return all releases of the table, by a record."""
    question = "What else was released about this table?"
    if releases is None:
        how = "Give the record: hedgerow report … --ledger FILE, a budget file or what hedgerow ledger export writes."
        return Section("releases", question, "Not measured. No record of the table's releases was given.", measure=how)
    answer = (
        f"{len(releases.releases)} {_plural('release', releases.releases)} of this table "
        f"{'is' if len(releases.releases) == 1 else 'are'} on record, this model included if it was charged there. "
        f"{_SUMMED[len(releases.by_unit) > 1]}: whoever has all of them knows more than whoever has one."
    )
    facts = (
        Fact("record", releases.record),
        *([Fact("dataset", releases.dataset)] if releases.dataset else []),
        *_losses(releases),
        *([] if releases.cap is None else [Fact("cap on epsilon", amount_text(releases.cap), float(releases.cap))]),
    )
    rows = tuple(
        (
            one.charge.purpose,
            one.time[:19].replace("T", " ") or "not recorded",
            amount_text(one.charge.epsilon),
            amount_text(one.charge.delta),
            "; ".join(filter(None, (one.state, _remark(one.charge)))),
        )
        for one in releases.releases
    )
    grid = Grid("Every release on record", ("what", "when (UTC)", "epsilon", "delta", "remark"), rows)
    return Section("releases", question, answer, facts, (grid,) if rows else ())


_SUMMED = {False: "Their losses add up", True: "Losses of one unit of privacy add up, those of different ones do not"}


def _losses(releases: Releases) -> Iterator[Fact]:
    """Yield what all releases cost together, for each unit of privacy."""
    units = releases.by_unit
    for unit, one in units.items():
        whose = f", for {name_of(unit)}" if len(units) > 1 else ""
        yield Fact(f"epsilon of all, by addition{whose}", amount_text(one.epsilon), float(one.epsilon))
        yield Fact(f"delta of all, by addition{whose}", amount_text(one.delta), float(one.delta))
        if one.rho is not None:
            yield Fact(f"rho of all so far, a running figure{whose}", amount_text(one.rho), float(one.rho))


def noise(subject: Subject) -> Section:
    """Return where the noise comes from, and the limits that are known."""
    answer = (
        "The guarantee is as good as its random numbers and its arithmetic. The card says where they came from; it is "
        "a statement of whoever made the file, and no signature."
    )
    facts = (
        Fact("noise", subject.card.noise),
        Fact("software that made the model", subject.card.software),
        *([Fact("no guarantee because", subject.card.no_guarantee_reason)] if subject.card.no_guarantee_reason else []),
    )
    notes = (
        "Known limits: run time, errors about values outside the schema, and the size of tables are not noised; they "
        "are for the curator's eyes. hedgerow's docs, privacy.md, have the proofs and the limits one by one.",
    )
    return Section(
        "noise", "Where do the random numbers come from, and what is known to be weak?", answer, facts, notes=notes
    )


def _plural(word: str, found: Sequence[object]) -> str:
    return word if len(found) == 1 else f"{word}s"


LINES = (
    "Decision (release, release with conditions, do not release)",
    "Reasons",
    "Conditions",
    "First checker: name, date, signature",
    "Second checker: name, date, signature",
)
"""The lines that a board fills in by hand."""
_NO_DIGEST = {True: "none: not a file of hedgerow", False: "on the sheet for the board: it depends on the rows"}


def identity(subject: Subject, made: date, kind: Kind) -> Section:
    """Return what the report is about.

    The digest of a model without a guarantee is a function of its rows, by which guesses can be confirmed: it is for
    the board.
    """
    released = subject.released if subject.is_private or kind == "board" else None
    digest = _NO_DIGEST[subject.released is None] if released is None else released.to_dict()["digest"]
    facts = (
        Fact("name", subject.title),
        Fact("kind of model", subject.kind),
        Fact("digest (SHA-256) of the model file", digest),
        Fact("software that made the model", subject.card.software),
        Fact("software that made this report", SOFTWARE),
        Fact("date of this report", made.isoformat()),
    )
    told = "its digest tells it from every other model, and is no signature." if released else "no digest is shown."
    answer = f"{subject.title}: {subject.kind}; {told}"
    return Section("identity", "What is reported on?", answer, facts)


def purpose(subject: Subject) -> Section:
    """Return what the model is for, whom it describes, and who answers for it."""
    return _stated(
        subject,
        "purpose",
        "What is it for, whom does it describe, and who answers for it?",
        ("purpose", "population", "rows", "curator", "curator_type", "region", "sector"),
        "As the form says. No file of a model states these, and nothing here has been checked.",
    )


def preparation(subject: Subject) -> Section:
    """Return what was done before the model was learned."""
    return _stated(
        subject,
        "preparation",
        "What was done with the rows before, and how were the settings chosen?",
        ("preprocessing", "tuning"),
        "As the form says. What was looked at before and was not charged is outside every guarantee.",
    )


def relation(subject: Subject) -> Section:
    """Return how the model relates to other outputs."""
    return _stated(
        subject,
        "relation",
        "How does it relate to other outputs of the same people?",
        ("relation",),
        "As the form says. Two outputs that are harmless alone can disclose by their difference; under differential "
        "privacy their losses add up.",
    )


def residual_risk(subject: Subject) -> Section:
    """Return which risk remains."""
    return _stated(
        subject,
        "residual-risk",
        "Which risk remains, and why is it acceptable?",
        ("residual_risk",),
        "As the form says. No number on this sheet answers this question.",
    )


def decision(kind: Kind) -> Section:
    """Return the lines to sign."""
    of = "public sheet" if kind == "public" else "sheet for the board"
    answer = f"The board decides. Findings of this {of} are reasons, not the decision."
    return Section("decision", "What is decided, by whom, and why?", answer, tuple(Fact(line, "") for line in LINES))


def _stated(subject: Subject, key: str, question: str, names: tuple[str, ...], answer: str) -> Section:
    stated = {name: getattr(subject.form, name) for name in names}
    facts = tuple(Fact(name.replace("_", " "), text or NOT_STATED) for name, text in stated.items())
    return Section(key, question, answer, facts, measure="" if all(stated.values()) else BY_FORM)


_MOST = 700.0  # the largest exponent whose power has a float


def largest_belief(prior: float, epsilon: Fraction) -> float:
    """Return what a suspicion that a row is in the table can rise to at most, by Bayes' rule, without δ.

    Examples
    --------
    >>> from math import log
    >>> round(largest_belief(0.5, Fraction(1)), 4), round(largest_belief(0.25, Fraction(log(3))), 4)
    (0.7311, 0.5)
    """
    return float(expit(logit(prior) + float(epsilon)))


def largest_rate(fpr: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest true positive rate at a false positive rate of any test whether a row is in the table.

    Examples
    --------
    >>> round(largest_rate(0.01, Fraction(1), Fraction(0)), 4), largest_rate(0.5, Fraction(0), Fraction(0))
    (0.0272, 0.5)

    References
    ----------
    Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy*, 2015, Theorem 2.1.
    """
    size = min(float(epsilon), _MOST)
    return float(min(1.0, exp(size) * fpr + float(delta), 1 - exp(-size) * max(0.0, 1 - float(delta) - fpr)))


def factor_text(epsilon: Fraction) -> str:
    """Return e^ε in words, rounded up."""
    if epsilon > Fraction(_MOST):
        return f"e^{float(epsilon):.4g}, which is more than 10^300"
    return f"{rounded_up(exp(float(epsilon)), 2):,.2f}"


def percent_up(share: float) -> str:
    """Return a bound as a percentage, rounded up to a tenth of a point.

    Examples
    --------
    >>> percent_up(0.5), percent_up(0.73106), percent_up(0.99999)
    ('50 %', '73.2 %', '100 %')
    """
    return f"{rounded_up(100 * share, 1):.4g} %"


def rounded_up(number: float, digits: int) -> float:
    """Return a number rounded up to so many decimals, but for what floats are off."""
    scale = 10**digits
    return ceil(number * scale * (1 - 1e-13)) / scale
