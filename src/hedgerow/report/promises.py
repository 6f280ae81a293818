"""Sections on the guarantee and its limits, charges, releases and statements, from card, schema, form and record."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, exp
from typing import Any

from scipy.special import expit, logit

from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.charge import Charge, total_rho
from hedgerow.privacy.wording import noun, of_reasons, of_unit
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
from hedgerow.report.releases import FAILED, Releases
from hedgerow.report.subject import Subject
from hedgerow.report.units import PersonBound, group_bound, person_epsilon
from hedgerow.schema.schema import Schema
from hedgerow.text.language import N_, _, decimal, enumerated, ngettext, number, percentage
from hedgerow.text.values import printable

PRIORS = (0.01, 0.1, 0.5, 0.9)  # prior beliefs in presence, whose largest posterior beliefs are printed
_SHOWN = 6  # the maximum number of attributes, charges and releases on a page


def guarantee(subject: Subject) -> Section:
    card = subject.card
    facts = [SheetLine("card_guarantee", _("guarantee stated by the privacy card"), card.guarantee)]
    if subject.bound is None:
        return section("guarantee", facts, is_private=False)
    (epsilon, delta), rho = subject.bound, total_rho(card.planned)
    facts += [_amount_line("epsilon", "epsilon", epsilon), _amount_line("delta", "delta", delta)]
    facts += [] if rho is None else [_amount_line("rho", "rho", rho)]
    of_person = group_bound(subject)
    if of_person is not None:
        facts += _person_lines(of_person)
        epsilon, delta = of_person.epsilon, of_person.delta
    name = _("largest factor by which an output becomes more likely")
    facts.append(SheetLine("largest_factor", name, factor_text(epsilon), _factor(epsilon)))
    for prior in PRIORS:
        most = largest_belief(prior, epsilon)
        name = _("a belief of {prior} in presence rises to at most", prior=percent_up(prior))
        facts.append(SheetLine(f"largest_belief_{prior:g}", name, percent_up(most), most))
    values: dict[str, Any] = {
        "unit": None if card.unit is None else noun(card.unit),
        "most": subject.form.rows_per_unit,
        "rows": suspected_rows(subject) if of_person is None else _(PERSON_ROWS),
        "steps": 1 if of_person is None else of_person.steps,
        "delta": local_amount(delta) if delta else "",
        "half": percent_up(largest_belief(0.5, epsilon)),
        "both": "" if delta else percent_up(largest_belief(0.5, 2 * epsilon)),
    }
    return section("guarantee", facts, is_private=True, **values)


PERSON_ROWS = N_("the rows of a certain person")
"""The object of "contains" in sentences on presence."""


def suspected_rows(subject: Subject) -> str:
    """Return the rows whose presence the guarantee of the card bounds, as the object of "contains"."""
    unit = subject.card.unit
    return _("a certain row") if unit is None else _("the rows of a certain {unit}", unit=noun(unit))


def local_amount(amount: Fraction) -> str:
    """Return an amount as text in the notation of the sheet's language."""
    return number(amount_text(amount))


def _amount_line(key: str, name: str, amount: Fraction) -> SheetLine:
    return SheetLine(key, name, local_amount(amount), float(amount))


def _person_lines(bound: PersonBound) -> Iterator[SheetLine]:
    """Yield the guarantee for all rows of one person, if it is weaker than the guarantee of the card."""
    yield _amount_line("epsilon_person", _("epsilon for all rows of one person"), bound.epsilon)
    yield _amount_line("delta_person", _("delta for all rows of one person"), bound.delta)
    if bound.rho is not None:
        yield _amount_line("rho_person", _("rho for all rows of one person"), bound.rho)


def is_of_rows(subject: Subject) -> bool:
    """Return whether the schema has values of the rows without a guarantee, and is therefore for the board only.

    The schema of a model that was read from a file of another program has cut points at the model's thresholds, and
    can lack categories that the file does not name.
    """
    schema = subject.schema
    return schema is not None and (
        _is_from_foreign_file(subject) or any(part.no_guarantee for part in (schema, *schema.charges))
    )


def _is_from_foreign_file(subject: Subject) -> bool:
    """Return whether the schema is the schema of a model that was read from a file of another program."""
    released = subject.released
    return released is not None and subject.schema is released.schema and subject.card.software.code != "hedgerow"


def has_foreign_thresholds(subject: Subject, kind: SheetKind = "public") -> bool:
    """Return whether another library chose thresholds; on a public sheet without a guarantee, whether it can have.

    Whether the model compares a number at all depends on the rows.
    """
    if subject.is_private or kind == "board":
        return subject.has_own_thresholds
    has_numbers = subject.schema is None or bool(subject.schema.numbers)
    return _is_from_foreign_file(subject) or (subject.card.software.code != "hedgerow" and has_numbers)


def unprotected(subject: Subject, kind: SheetKind) -> Section:
    schema, is_hidden = subject.schema, kind == "public" and is_of_rows(subject)
    is_shown = subject.is_private or kind == "board"  # notes, which may have numbers of rows without a guarantee
    notes = [note.words for note in subject.card.notes] if is_shown else []
    facts = [SheetLine("card_notes", _("notes on the privacy card"), "\n".join(notes))] if notes else []
    grids: list[Grid] = []
    if schema is not None and not is_hidden:
        size = ngettext(
            "{count} attribute, digest {digest}",
            "{count} attributes, digest {digest}",
            len(schema),
            digest=schema.digest,
        )
        facts.insert(0, SheetLine("schema_digest", _("schema"), size, schema.digest))
        if schema.label is not None:
            predicted = f"{printable(schema.label.name)}: {schema.label.domain}"
            facts.insert(1, SheetLine("label", _("predicted column"), predicted))
        title = _("The schema, and the source of its cut points")
        columns = (
            Column("attribute", _("attribute"), is_text=True),
            Column("domain", _("domain"), is_text=True),
            Column("cut_points", _("cut points")),
        )
        if has_foreign_thresholds(subject, kind):
            title, columns = _("The schema"), columns[:2]
        rows = tuple(row[: len(columns)] for row in _sources(schema))
        grids.append(Grid("schema", title, columns, rows, _SHOWN))
    return section("unprotected", facts, grids, has_schema=schema is not None, is_hidden=is_hidden)


def _sources(schema: Schema) -> tuple[tuple[str, str, Cell], ...]:
    """Return the attributes with their domains and the sources of their cut points."""
    declared = Cell(_("declared"), "declared")
    if schema.charges:
        declared = Cell(_("learned from the rows under a charge, or declared"), "charged_or_declared")
    if schema.no_guarantee:
        reasons = of_reasons(schema.no_guarantee)
        declared = Cell(_("no guarantee: {reasons}", reasons=reasons), "no_guarantee")
    default = Cell(_("the default grid of the declared bounds"), "default_grid")
    rows: list[tuple[str, str, Cell]] = []
    for name, attribute in schema.attributes:
        source = Cell(_("none: categories are declared"), "none")
        if name in schema.numbers:
            source = default if schema.numbers[name].has_default_cuts else declared
        rows.append((name, attribute.domain, source))
    return tuple(rows)


def charges(subject: Subject, kind: SheetKind) -> Section:
    """Return the mechanisms and every charge on the card; without a guarantee, their list depends on the rows."""
    card = subject.card
    is_hidden = kind == "public" and not card.is_private
    grids = [_priced(card.charges)] if card.charges and not is_hidden else []
    spent = {"epsilon": local_amount(card.epsilon or Fraction(0)), "delta": local_amount(card.delta or Fraction(0))}
    values: dict[str, Any] = {"count": len(card.charges), "is_private": card.is_private, "is_hidden": is_hidden}
    return section("charges", grids=grids, **spent, **values)


def _priced(charges: Sequence[Charge]) -> Grid:
    rows = list[tuple[GridValue, ...]]()
    for charge in charges:
        rho = Cell(_("unknown")) if charge.zcdp is None else _amount(charge.zcdp)
        mechanism = Cell(mechanism_words(charge), None if charge.mechanism is None else charge.mechanism.code)
        amounts = _amount(charge.epsilon), _amount(charge.delta), rho
        rows.append((_query(charge), mechanism, *amounts, _remark(charge)))
    columns = (
        Column("query", _("release")),
        Column("mechanism", _("mechanism")),
        Column("epsilon", "epsilon"),
        Column("delta", "delta"),
        Column("rho", "rho"),
        Column("remark", _("remark")),
    )
    return Grid("charges", _("All charges in order"), columns, tuple(rows), _SHOWN)


def _query(charge: Charge) -> Cell:
    return Cell(charge.purpose, charge.query.code)


def _amount(amount: Fraction) -> Cell:
    return Cell(local_amount(amount), float(amount))


def mechanism_words(charge: Charge) -> str:
    """Return the mechanism of a charge in words."""
    return _("not named") if charge.mechanism is None else charge.mechanism.words


def _remark(charge: Charge, *, has_failed: bool = False) -> Cell:
    """Return the remark on a charge."""
    remarks = {
        "failed": _("failed: charged, but not answered") if has_failed else "",
        "declared": _("declared by the schema's file") if charge.declared else "",
        "no_guarantee": _("no guarantee: {reasons}", reasons=charge.no_guarantee_reason) if charge.no_guarantee else "",
    }
    return Cell(
        enumerated(filter(None, remarks.values())),
        ",".join(code for code, text in remarks.items() if text) or None,
    )


def earlier(subject: Subject, releases: Releases | None) -> Section:
    if releases is None:
        return section("releases", count=None)
    facts = [SheetLine("record", _("record"), releases.record, releases.kind)]
    facts += [SheetLine("dataset", _("dataset"), releases.dataset)] if releases.dataset else []
    facts += _losses(subject, releases)
    if releases.cap is not None:
        facts.append(_amount_line("cap_epsilon", _("cap on epsilon"), releases.cap))
    rows = list[tuple[Cell, ...]]()
    for release in releases.releases:
        time = Cell(release.time[:19].replace("T", " ") or _("not recorded"), release.time or None)
        amounts = _amount(release.charge.epsilon), _amount(release.charge.delta)
        remark = _remark(release.charge, has_failed=release.state == FAILED)
        rows.append((_query(release.charge), time, *amounts, remark))
    columns = (
        Column("query", _("release")),
        Column("time", _("time (UTC)")),
        Column("epsilon", "epsilon"),
        Column("delta", "delta"),
        Column("remark", _("remark")),
    )
    grid = Grid("releases", _("All releases on record"), columns, tuple(rows), _SHOWN)
    return section("releases", facts, [grid] if rows else [], count=len(rows), units=len(releases.by_unit))


def _losses(subject: Subject, releases: Releases) -> Iterator[SheetLine]:
    units = releases.by_unit
    for place, (unit, own) in enumerate(units.items(), 1):
        end, names = f"_unit_{place}", [_(name, unit=of_unit(unit)) for name in _LOSSES_OF_UNIT]
        if len(units) == 1:
            end, names = "", [_(name) for name in _LOSSES]
        yield _amount_line(f"epsilon{end}", names[0], own.epsilon)
        yield _amount_line(f"delta{end}", names[1], own.delta)
        if own.rho is not None:
            yield _amount_line(f"rho{end}", names[2], own.rho)
    of_person = person_epsilon(subject, releases)
    if of_person is not None and any(of_person > own.epsilon for own in units.values()):
        yield _amount_line("epsilon_person", _("sum of all epsilon, for all rows of one person"), of_person)


_LOSSES = (N_("sum of all epsilon"), N_("sum of all delta"), N_("sum of all rho"))
_LOSSES_OF_UNIT = (
    N_("sum of all epsilon, for {unit}"),
    N_("sum of all delta, for {unit}"),
    N_("sum of all rho, for {unit}"),
)


def noise(subject: Subject) -> Section:
    card = subject.card
    facts = [SheetLine("noise", _("source of the noise"), card.noise.words, card.noise.code)]
    if card.no_guarantee:
        facts.append(SheetLine("no_guarantee", _("reasons for no guarantee"), of_reasons(card.no_guarantee) or ""))
    return section("noise", facts)


def identity(subject: Subject, kind: SheetKind, public: Sheet | None = None) -> Section:
    """Return the section on the report's subject; for the board with digests of rows and of the public sheet.

    A digest of rows, or of a model without a guarantee, confirms guesses of rows, so it is for the board only. The
    public sheet cannot contain the digest of the board's sheet, because this digest is a function of the rows, too.
    """
    has_digest = subject.is_private or kind == "board"
    facts = [SheetLine("kind", _("kind of model"), subject.kind), *_model_digests(subject, has_digest=has_digest)]
    if kind == "board":
        facts += [_file_line(subject, role, _(name)) for role, name in _ROWS.items()]
    if public is not None:
        digests = {"html": sha256_of(page(public)), "json": sha256_of(json_text(public.to_dict()))}
        facts += [
            SheetLine("public_html_sha256", _("SHA-256 of the public sheet, HTML"), digests["html"], digests["html"]),
            SheetLine("public_json_sha256", _("SHA-256 of the public sheet, JSON"), digests["json"], digests["json"]),
        ]
    facts.append(SheetLine("software", _("software that made the model"), subject.card.software.words))
    is_shown = subject.released is not None and has_digest
    return section("identity", facts, title=subject.form.title, kind=subject.kind, has_digest=is_shown)


_ROWS: dict[FileRole, str] = {
    "training_rows": N_("SHA-256 of the file of training rows"),
    "held_out_rows": N_("SHA-256 of the file of held-out rows"),
}


def _model_digests(subject: Subject, *, has_digest: bool) -> Iterator[SheetLine]:
    """Yield the SHA-256 of the bytes of the model file, and the digest of the content that the file states."""
    of_file, of_content = _("SHA-256 of the model file"), _("content digest of the model")
    if not has_digest:
        hidden = _("on the board's sheet only, because it depends on the rows")
        yield SheetLine("model_sha256", of_file, hidden)
        yield SheetLine("content_digest", of_content, hidden)
        return
    yield _file_line(subject, "model", of_file)
    digest = None if subject.released is None else subject.released.to_dict()["digest"]
    yield SheetLine("content_digest", of_content, digest or _("none: the model is not a hedgerow model"), digest)


def _file_line(subject: Subject, role: FileRole, name: str) -> SheetLine:
    digest = next((file.sha256 for file in subject.files if file.role == role), None)
    return SheetLine(f"{role}_sha256", name, digest or _("no file was given"), digest)


def stated(subject: Subject, kind: SheetKind) -> Section:
    """Return the entries of the form: all entries for the public sheet, only limits and risk for the board's sheet."""
    names = tuple(_STATED) if kind == "public" else ("limits", "residual_risk")
    entries = {name: getattr(subject.form, name) for name in names}
    facts = [
        SheetLine(name, _(_STATED[name]), number(entry), entry)
        if isinstance(entry, int)
        else SheetLine(name, _(_STATED[name]), entry)
        for name, entry in entries.items()
        if entry
    ]
    missing = [_(_STATED[name]) for name, entry in entries.items() if not entry and name not in _OPTIONAL]
    facts += [SheetLine("not_stated", _("not stated"), enumerated(missing))] if missing else []
    return section("statements", facts, missing=missing, is_private=subject.is_private)


_STATED = {
    "purpose": N_("purpose of the model"),
    "population": N_("population"),
    "rows": N_("rows of the table"),
    "unit": N_("meaning of one row"),
    "rows_per_unit": N_("largest number of rows of one person"),
    "unit_column": N_("column that identifies the person"),
    "second_unit": N_("column of the household or institution"),
    "curator": N_("curator of the table"),
    "curator_type": N_("type of curator"),
    "region": N_("region"),
    "sector": N_("sector"),
    "cut_points": N_("source of cut points, bounds and categories"),
    "preprocessing": N_("preprocessing of the rows"),
    "tuning": N_("choice of parameters and model"),
    "limits": N_("limits of use"),
    "relation": N_("related outputs"),
    "residual_risk": N_("residual risk"),
}
"""The entries of the form on a sheet, with their names there."""
_OPTIONAL = ("unit_column", "second_unit")  # entries that name columns, which a table may lack


def decision(kind: SheetKind) -> Section:
    lines = {
        "decision": _("Decision (release, release with conditions, do not release)"),
        "reasons": _("Reasons and conditions"),
        "checker_1": _("First checker: name, date, signature"),
        "checker_2": _("Second checker: name, date, signature"),
    }
    return section("decision", [SheetLine(key, line, "") for key, line in lines.items()], kind=kind)


_MOST = 700.0  # the largest exponent whose power has a float


def largest_belief(prior: float, epsilon: Fraction) -> float:
    """Return the largest belief in a row's presence after seeing the output, by Bayes' rule, for δ = 0."""
    return float(expit(logit(prior) + float(epsilon)))


def largest_rate(fpr: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest TPR of any test at an FPR: Kairouz, Oh and Viswanath (2015), Theorem 2.1."""
    size = min(float(epsilon), _MOST)
    return float(min(1.0, exp(size) * fpr + float(delta), 1 - exp(-size) * max(0.0, 1 - float(delta) - fpr)))


def factor_text(epsilon: Fraction) -> str:
    factor = _factor(epsilon)
    if factor is None:
        return _("e^{epsilon}, which is more than 10^300", epsilon=number(f"{float(epsilon):.4g}"))
    return decimal(rounded_up(factor, 2), 2)


def _factor(epsilon: Fraction) -> float | None:
    """Return the largest factor by which an output becomes more likely; None if it has no float."""
    return exp(float(epsilon)) if epsilon <= Fraction(_MOST) else None


def percent_up(share: float) -> str:
    """Return a bound as a percentage, rounded up to a tenth of a point."""
    return percentage(f"{rounded_up(100 * share, 1):.4g}")


def rounded_up(number: float, digits: int) -> float:
    scale = 10**digits
    return ceil(number * scale * (1 - 1e-13)) / scale
