"""Sections made of card, schema, form and record: the guarantee and its limits, charges, releases, what is stated."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, exp
from typing import Any

from scipy.special import expit, logit

from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.charge import Charge, total_rho
from hedgerow.privacy.wording import noun, of_reasons, of_unit, suspected
from hedgerow.report.contents import (
    Cell,
    Column,
    Grid,
    GridValue,
    Section,
    Sheet,
    SheetKind,
    SheetLine,
    json_text,
    page,
    section,
)
from hedgerow.report.files import FileRole, sha256_of
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.report.units import PersonBound, group_bound, person_epsilon
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

PRIORS = (0.01, 0.1, 0.5, 0.9)  # Suspicions whose largest growth is printed
_SHOWN = 6  # attributes, charges and releases on a page


def guarantee(subject: Subject) -> Section:
    card = subject.card
    facts = [SheetLine("card_guarantee", "guarantee, as the card says", card.guarantee)]
    if subject.bound is None:
        return section("guarantee", facts, is_private=False)
    (epsilon, delta), rho = subject.bound, total_rho(card.planned)
    facts += [
        SheetLine("epsilon", "epsilon", amount_text(epsilon), float(epsilon)),
        SheetLine("delta", "delta", amount_text(delta), float(delta)),
    ]
    facts += [] if rho is None else [SheetLine("rho", "rho", amount_text(rho), float(rho))]
    of_person = group_bound(subject)
    if of_person is not None:
        facts += _person_lines(of_person)
        epsilon, delta = of_person.epsilon, of_person.delta
    name = "largest factor by which an output becomes more likely"
    facts.append(SheetLine("largest_factor", name, factor_text(epsilon), _factor(epsilon)))
    for prior in PRIORS:
        most = largest_belief(prior, epsilon)
        name = f"a suspicion of {percent_up(prior)} rises to at most"
        facts.append(SheetLine(f"largest_belief_{prior:g}", name, percent_up(most), most))
    both = f": 50 % sure of one of them becomes at most {percent_up(largest_belief(0.5, 2 * epsilon))}"
    values: dict[str, Any] = {
        "unit": None if card.unit is None else noun(card.unit),
        "rows": subject.form.rows_per_unit,
        "suspected": suspected(card.unit) if of_person is None else "the rows of one person are",
        "steps": 1 if of_person is None else of_person.steps,
        "delta": amount_text(delta) if delta else "",
        "both": "" if delta else both,
    }
    return section("guarantee", facts, is_private=True, half=percent_up(largest_belief(0.5, epsilon)), **values)


def _person_lines(bound: PersonBound) -> Iterator[SheetLine]:
    """Yield the guarantee for all rows of one person, if it is weaker than the guarantee of the card."""
    amounts = {"epsilon": bound.epsilon, "delta": bound.delta, "rho": bound.rho}
    for name, amount in amounts.items():
        if amount is not None:
            yield SheetLine(f"{name}_person", f"{name} for all rows of one person", amount_text(amount), float(amount))


def is_of_rows(subject: Subject) -> bool:
    """Return whether the schema is of the rows without a guarantee, so that its bounds and cuts are for the board."""
    schema = subject.schema
    return schema is not None and any(one.no_guarantee for one in (schema, *schema.charges))


def unprotected(subject: Subject, kind: SheetKind) -> Section:
    schema, is_hidden = subject.schema, kind == "public" and is_of_rows(subject)
    is_shown = subject.is_private or kind == "board"  # notes, which may have numbers of rows without a guarantee
    notes = [note.words for note in subject.card.notes] if is_shown else []
    facts = [SheetLine("card_notes", "notes on the card", "\n".join(notes))] if notes else []
    grids: list[Grid] = []
    if schema is not None and not is_hidden:
        size = number_of(len(schema), "attribute")
        facts.insert(0, SheetLine("schema_digest", "schema", f"{size}, digest {schema.digest}", schema.digest))
        if schema.label is not None:
            predicted = f"{printable(schema.label.name)}: {schema.label.domain}"
            facts.insert(1, SheetLine("label", "what is predicted", predicted))
        title, columns = "The schema, and where its cut points come from", _SCHEMA_COLUMNS
        if subject.has_own_thresholds:
            title, columns = "The schema", columns[:2]
        rows = tuple(row[: len(columns)] for row in _sources(schema))
        grids.append(Grid("schema", title, columns, rows, _SHOWN))
    return section("unprotected", facts, grids, has_schema=schema is not None, is_hidden=is_hidden)


_SCHEMA_COLUMNS = (
    Column("attribute", "attribute", is_text=True),
    Column("domain", "domain", is_text=True),
    Column("cut_points", "cut points"),
)
_DEFAULT_GRID = Cell("the default grid of the declared bounds", "default_grid")
_NO_CUTS = Cell("none: categories are declared", "none")


def _sources(schema: Schema) -> tuple[tuple[str, str, Cell], ...]:
    """Return the attributes with their domains and where their cut points come from."""
    declared = Cell("declared", "declared")
    if schema.charges:
        declared = Cell("learned from the rows under a charge, or declared", "charged_or_declared")
    if schema.no_guarantee:
        declared = Cell(f"no guarantee: {of_reasons(schema.no_guarantee)}", "no_guarantee")
    found: list[tuple[str, str, Cell]] = []
    for name, attribute in schema.attributes:
        source = _NO_CUTS
        if name in schema.numbers:
            source = _DEFAULT_GRID if schema.numbers[name].has_default_cuts else declared
        found.append((name, attribute.domain, source))
    return tuple(found)


def charges(subject: Subject, kind: SheetKind) -> Section:
    """Return the mechanisms, and every charge on the card: without a guarantee their list depends on the rows."""
    card = subject.card
    is_hidden = kind == "public" and not card.is_private
    grids = [_priced(card.charges)] if card.charges and not is_hidden else []
    spent: dict[str, Any] = {"epsilon": amount_text(card.epsilon or 0), "delta": amount_text(card.delta or 0)}
    return section("charges", grids=grids, count=len(card.charges), is_hidden=is_hidden, **spent)


def _priced(found: Sequence[Charge]) -> Grid:
    rows = list[tuple[GridValue, ...]]()
    for one in found:
        rho = Cell("unknown") if one.zcdp is None else _amount(one.zcdp)
        mechanism = Cell(mechanism_words(one), None if one.mechanism is None else one.mechanism.code)
        amounts = _amount(one.epsilon), _amount(one.delta), rho
        rows.append((_query(one), mechanism, *amounts, _remark(one)))
    columns = (
        Column("query", "what"),
        Column("mechanism", "mechanism"),
        Column("epsilon", "epsilon"),
        Column("delta", "delta"),
        Column("rho", "rho"),
        Column("remark", "remark"),
    )
    return Grid("charges", "Every charge, in order", columns, tuple(rows), _SHOWN)


def _query(charge: Charge) -> Cell:
    return Cell(charge.purpose, charge.query.code)


def _amount(amount: Fraction) -> Cell:
    return Cell(amount_text(amount), float(amount))


def mechanism_words(charge: Charge) -> str:
    """Return the mechanism of a charge in words."""
    return "not named" if charge.mechanism is None else charge.mechanism.words


def _remark(charge: Charge, state: str = "") -> Cell:
    """Return what to know of a charge; `state` says that its release failed."""
    remarks = {
        "failed": state,
        "declared": "declared by the schema's file" if charge.declared else "",
        "no_guarantee": f"no guarantee: {charge.no_guarantee_reason}" if charge.no_guarantee else "",
    }
    return Cell(
        "; ".join(filter(None, remarks.values())), ",".join(code for code, text in remarks.items() if text) or None
    )


def earlier(subject: Subject, releases: Releases | None) -> Section:
    if releases is None:
        return section("releases", count=None)
    facts = [SheetLine("record", "record", releases.record, releases.kind)]
    facts += [SheetLine("dataset", "dataset", releases.dataset)] if releases.dataset else []
    facts += _losses(subject, releases)
    if releases.cap is not None:
        facts.append(SheetLine("cap_epsilon", "cap on epsilon", amount_text(releases.cap), float(releases.cap)))
    rows = list[tuple[Cell, ...]]()
    for one in releases.releases:
        time = Cell(one.time[:19].replace("T", " ") or "not recorded", one.time or None)
        amounts = _amount(one.charge.epsilon), _amount(one.charge.delta)
        rows.append((_query(one.charge), time, *amounts, _remark(one.charge, one.state)))
    columns = (
        Column("query", "what"),
        Column("time", "when (UTC)"),
        Column("epsilon", "epsilon"),
        Column("delta", "delta"),
        Column("remark", "remark"),
    )
    grid = Grid("releases", "Every release on record", columns, tuple(rows), _SHOWN)
    return section("releases", facts, [grid] if rows else [], count=len(rows), units=len(releases.by_unit))


def _losses(subject: Subject, releases: Releases) -> Iterator[SheetLine]:
    units = releases.by_unit
    for place, (unit, one) in enumerate(units.items(), 1):
        whose, end = (f", for {of_unit(unit)}", f"_unit_{place}") if len(units) > 1 else ("", "")
        epsilon, delta, rho = amount_text(one.epsilon), amount_text(one.delta), amount_text(one.rho or Fraction(0))
        yield SheetLine(f"epsilon{end}", f"epsilon of all, by addition{whose}", epsilon, float(one.epsilon))
        yield SheetLine(f"delta{end}", f"delta of all, by addition{whose}", delta, float(one.delta))
        if one.rho is not None:
            yield SheetLine(f"rho{end}", f"rho of all so far, a running figure{whose}", rho, float(one.rho))
    of_person = person_epsilon(subject, releases)
    if of_person is not None and any(of_person > one.epsilon for one in units.values()):
        name = "epsilon of all, for all rows of one person"
        yield SheetLine("epsilon_person", name, amount_text(of_person), float(of_person))


def noise(subject: Subject) -> Section:
    card = subject.card
    facts = [SheetLine("noise", "noise", card.noise.words, card.noise.code)]
    facts += (
        [SheetLine("no_guarantee", "no guarantee because", of_reasons(card.no_guarantee) or "")]
        if card.no_guarantee
        else []
    )
    return section("noise", facts)


def identity(subject: Subject, kind: SheetKind, public: Sheet | None = None) -> Section:
    """Return what the report is about; for the board with the digests of the files of rows and of the public sheet.

    A digest of rows, or of a model without a guarantee, confirms guesses at rows: it is for the board. The public sheet
    cannot name the digest of the board's sheet, which is a function of the rows, too.
    """
    has_digest = subject.is_private or kind == "board"
    facts = [SheetLine("kind", "kind of model", subject.kind), *_model_digests(subject, has_digest=has_digest)]
    if kind == "board":
        facts += [_file_line(subject, role, f"SHA-256 of the file of {words}") for role, words in _ROWS.items()]
    if public is not None:
        for media, text in (("HTML", page(public)), ("JSON", json_text(public.to_dict()))):
            digest = sha256_of(text)
            facts.append(
                SheetLine(f"public_{media.lower()}_sha256", f"SHA-256 of the public sheet, {media}", digest, digest)
            )
    facts.append(SheetLine("software", "software that made the model", subject.card.software.words))
    is_shown = subject.released is not None and has_digest
    return section("identity", facts, title=subject.title, kind=subject.kind, has_digest=is_shown)


_ROWS: dict[FileRole, str] = {"training_rows": "training rows", "held_out_rows": "held-out rows"}


def _model_digests(subject: Subject, *, has_digest: bool) -> Iterator[SheetLine]:
    """Yield the SHA-256 of the bytes of the model file, and the digest of the content that the file states."""
    names = {"model_sha256": "SHA-256 of the model file", "content_digest": "content digest of the model"}
    if not has_digest:
        for key, name in names.items():
            yield SheetLine(key, name, "on the sheet for the board: it depends on the rows")
        return
    yield _file_line(subject, "model", names["model_sha256"])
    digest = None if subject.released is None else subject.released.to_dict()["digest"]
    yield SheetLine("content_digest", names["content_digest"], digest or "none, since it is not hedgerow's", digest)


def _file_line(subject: Subject, role: FileRole, name: str) -> SheetLine:
    digest = next((file.sha256 for file in subject.files if file.role == role), None)
    return SheetLine(f"{role}_sha256", name, digest or "no file was given", digest)


def stated(subject: Subject, kind: SheetKind) -> Section:
    """Return what people state in the form: all of it on the public sheet, limits and risk alone on the board's."""
    names = _STATED if kind == "public" else ("limits", "residual_risk")
    found = {name: getattr(subject.form, name) for name in names}
    facts = [
        SheetLine(name, _named(name), f"{one:,}", one) if isinstance(one, int) else SheetLine(name, _named(name), one)
        for name, one in found.items()
        if one
    ]
    missing = [_named(name) for name, one in found.items() if not one and name not in _OPTIONAL]
    facts += [SheetLine("not_stated", "not stated", ", ".join(missing))] if missing else []
    return section("statements", facts, missing=missing)


_STATED = (
    *("purpose", "population", "rows", "unit", "rows_per_unit", "unit_column", "second_unit"),
    *("curator", "curator_type", "region", "sector"),
    *("cut_points", "preprocessing", "tuning", "limits", "relation", "residual_risk"),
)
_OPTIONAL = ("unit_column", "second_unit")  # entries for columns that a table may not have
_IN_WORDS = {
    "unit": "one row is",
    "rows_per_unit": "rows that one person can have, at most",
    "unit_column": "column that identifies the person",
    "second_unit": "column of the household or institution",
    "cut_points": "where cut points come from",
    "limits": "limits of use",
}


def _named(name: str) -> str:
    return _IN_WORDS.get(name, name.replace("_", " "))


def decision(kind: SheetKind) -> Section:
    lines = {
        "decision": "Decision (release, release with conditions, do not release)",
        "reasons": "Reasons and conditions",
        "checker_1": "First checker: name, date, signature",
        "checker_2": "Second checker: name, date, signature",
    }
    return section("decision", [SheetLine(key, line, "") for key, line in lines.items()], kind=kind)


_MOST = 700.0  # the largest exponent whose power has a float


def largest_belief(prior: float, epsilon: Fraction) -> float:
    """Return the most that a suspicion of a row's presence can rise to, by Bayes' rule, without δ."""
    return float(expit(logit(prior) + float(epsilon)))


def largest_rate(fpr: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest TPR of any test at an FPR: Kairouz, Oh and Viswanath (2015), Theorem 2.1."""
    size = min(float(epsilon), _MOST)
    return float(min(1.0, exp(size) * fpr + float(delta), 1 - exp(-size) * max(0.0, 1 - float(delta) - fpr)))


def factor_text(epsilon: Fraction) -> str:
    factor = _factor(epsilon)
    return f"e^{float(epsilon):.4g}, which is more than 10^300" if factor is None else f"{rounded_up(factor, 2):,.2f}"


def _factor(epsilon: Fraction) -> float | None:
    """Return the largest factor by which an output becomes more likely; None if it has no float."""
    return exp(float(epsilon)) if epsilon <= Fraction(_MOST) else None


def percent_up(share: float) -> str:
    """Return a bound as a percentage, rounded up to a tenth of a point."""
    return f"{rounded_up(100 * share, 1):.4g} %"


def rounded_up(number: float, digits: int) -> float:
    scale = 10**digits
    return ceil(number * scale * (1 - 1e-13)) / scale
