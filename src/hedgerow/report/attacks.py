"""The section and the checks of attacks attached to a report, compared with what ε permits. **Private**."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, expm1, log2, tanh
from typing import NamedTuple

from hedgerow.audit import AttackMeasure, ExactMembership
from hedgerow.audit.attack_record import AttackKind
from hedgerow.audit.attack_subject import order_digest
from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.unit import group_privacy
from hedgerow.report.attack_binding import Attached, TableMatch
from hedgerow.report.checks import Check, Status, check, short
from hedgerow.report.comparisons import Pair, alarm_share
from hedgerow.report.contents import Cell, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.promises import largest_rate
from hedgerow.report.subject import Subject
from hedgerow.text.language import N_, _, decimal, ngettext, number, percentage
from hedgerow.text.messages import capitalised
from hedgerow.text.values import printable, shown_text

_TABLES: dict[TableMatch, str] = {
    "training": N_("the training rows"),
    "all": N_("training rows and held-out rows together"),
    "made": N_("tables made for the attack"),
    "not_compared": N_("not compared with the rows"),
}
_NAMES: dict[AttackKind, str] = {
    "membership": N_("membership inference over random splits"),
    "lira": N_("membership inference by refits"),
    "exact-membership": N_("optimal membership inference"),
    "exact-inference": N_("optimal inference among candidates"),
    "one-run": N_("guesses about the rows of one run"),
    "empirical": N_("runs on neighbouring tables"),
}
_ROUNDING = 1 + 1e-9
_LEAST_SHARE = 1e-6  # the smallest share that is printed; smaller shares are printed as 0
_SHOWN_ROWS = 24  # the maximum number of measures on a page


def largest_auc(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest area under the ROC curve of any test: the area above the trade-off curve of (ε, δ)."""
    return 1 - (1 - float(delta)) ** 2 / (1 + _power(epsilon))


def largest_advantage(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest difference between TPR and FPR of any test (Kairouz, Oh and Viswanath, 2015)."""
    half = tanh(min(float(epsilon), 1400.0) / 2)
    return min(half + float(delta) * (1 - half), 1.0)


def largest_success(epsilon: Fraction, baseline: float) -> float:
    """Return the largest probability of a correct guess, if it is `baseline` without the model."""
    grown = _power(epsilon) * baseline
    return grown / (grown + 1 - baseline)


def _power(epsilon: Fraction) -> float:
    return expm1(min(float(epsilon), 700.0)) + 1


def permitted(attack: Attached, measure: AttackMeasure) -> float | None:
    """Return the largest value of a measure that the learner's ε permits; None without a guarantee or a bound.

    The splits of "membership" have a fixed size, and a row of "exact-inference" is one of several candidates. In both
    attacks one row replaces another, so the loss of two rows is permitted.
    """
    subject = attack.record.subject
    if subject.epsilon is None or subject.delta is None:
        return None
    bound = subject.epsilon, subject.delta
    if attack.kind in ("membership", "exact-inference"):
        bound = _of_rows(bound, 2)
    bounds: dict[str, Callable[[], float]] = {
        "auc": lambda: largest_auc(*bound),
        "tpr": lambda: largest_rate(measure.at or 0.0, *bound),
        "advantage": lambda: largest_advantage(*bound),
        "label_advantage": lambda: largest_advantage(*_of_rows(bound, 2)),
        "privacy_loss": lambda: float(bound[0]),
        "epsilon": lambda: float(bound[0]),
    }
    if attack.kind == "exact-inference":
        of_models = bound[0] * int(attack.value("models") or 1)
        most = largest_success(of_models, attack.value("baseline"))
        return most if measure.code == "success" else None
    return bounds[measure.code]() if measure.code in bounds else None


def _of_rows(bound: tuple[Fraction, Fraction], rows: int) -> tuple[Fraction, Fraction]:
    epsilon, delta, _rho = group_privacy(*bound, None, rows)
    return epsilon, delta


def attack_section(subject: Subject, attacks: Sequence[Attached]) -> Section:
    refuted = _refuted(subject, attacks)
    facts = [SheetLine("attacks", _("attacks"), number(len(attacks)), len(attacks))] if attacks else []
    refutation = refuted[0].sentence if refuted else ""
    grids = [_list(attacks), _measures(subject, attacks)] if attacks else []
    epsilon = None if subject.bound is None else number(amount_text(subject.bound[0]))
    return section("attacks", facts, grids, attacks=attacks, refutation=refutation, epsilon=epsilon)


def _numbered(place: int, attack: Attached) -> str:
    return f"{place}. {_(_NAMES[attack.kind])}"


def _list(attacks: Sequence[Attached]) -> Grid:
    columns = (
        Column("attack", _("attack"), is_text=True),
        Column("method", _("method"), is_text=True),
        Column("learner", _("learner"), is_text=True),
        Column("epsilon", "epsilon"),
        Column("table", _("attacked rows")),
        Column("rows", _("rows")),
        Column("repeats", _("repeats")),
    )
    rows = list[tuple[GridValue, ...]]()
    for place, attack in enumerate(attacks, 1):
        record, attacked = attack.record, attack.record.subject
        epsilon = Cell(_("none"))
        if attacked.epsilon is not None:
            epsilon = Cell(number(str(attacked.epsilon)), float(attacked.epsilon))
        repeats = Cell(_("computed")) if record.repeats is None else record.repeats
        names = (_numbered(place, attack), printable(record.method), printable(attacked.learner))
        rows.append((*names, epsilon, Cell(_(_TABLES[attack.table]), attack.table), attacked.rows, repeats))
    return Grid("attacks", _("Attacks on the learner"), columns, tuple(rows))


_MEASURES: dict[str, str] = {
    "auc": N_("AUC (0.5 for guessing)"),
    "tpr": N_("share of members found at a false positive rate of {at}"),
    "significant_rows": N_("rows for which fits with and without the row differ"),
    "advantage": N_("largest advantage for a row"),
    "privacy_loss": N_("largest privacy loss of a row"),
    "label_advantage": N_("largest advantage for a label"),
    "success": N_("probability of a correct guess"),
    "baseline": N_("probability of a correct guess without the model"),
    "models": N_("number of models that the attacker sees"),
    "epsilon": N_("lower bound of epsilon"),
    "mu": N_("lower bound of mu (Gaussian differential privacy)"),
}
_SHARES = ("tpr", "advantage", "label_advantage", "success", "baseline")


def _measures(subject: Subject, attacks: Sequence[Attached]) -> Grid:
    columns = (
        Column("attack", _("attack"), is_text=True),
        Column("measure", _("measure")),
        Column("fpr", _("at a false positive rate")),
        Column("value", _("achieved")),
        Column("interval", _("interval")),
        Column("permitted", _("epsilon permits at most")),
    )
    rows = list[tuple[GridValue, ...]]()
    for place, attack in enumerate(attacks, 1):
        for measure in attack.record.measures:
            most = permitted(attack, measure) if subject.is_private else None
            cells = (
                Cell(_measure_name(measure), measure.code),
                Cell("", measure.at),
                Cell(_shown(measure.code, measure.value), measure.value, measure.interval),
                Cell(_interval(measure)),
                Cell("" if most is None else _shown(measure.code, most), most),
            )
            rows.append((_numbered(place, attack), *cells))
    title = _("Results of the attacks, and what epsilon permits")
    return Grid("attack_measures", title, columns, tuple(rows), _SHOWN_ROWS)


def _measure_name(measure: AttackMeasure) -> str:
    if measure.at is None:
        return _(_MEASURES[measure.code])
    return _(_MEASURES[measure.code], at=percentage(f"{100 * measure.at:g}"))


def _shown(code: str, value: float) -> str:
    if code in _SHARES:
        return percentage(f"{100 * value:.3g}" if value >= _LEAST_SHARE else 0)
    return number(value) if isinstance(value, int) else decimal(value, 3)


def _interval(measure: AttackMeasure) -> str:
    if measure.confidence is None:
        return ""
    low, high = (None if end is None else _shown(measure.code, end) for end in (measure.low, measure.high))
    confidence = percentage(f"{100 * measure.confidence:.3g}")
    if high is None:
        return _("{low} or more ({confidence})", low=low, confidence=confidence)
    return _("{low} to {high} ({confidence})", low=low, high=high, confidence=confidence)


class Refutation(NamedTuple):
    """A result of an attack above the limit that the learner's ε implies."""

    value: float
    limit: float
    sentence: str


def refutations(attack: Attached) -> Iterator[Refutation]:
    """Yield the results of an attack above the limit of the claimed guarantee, at the confidence of their intervals."""
    for measure in attack.record.measures:
        most = permitted(attack, measure)
        least = measure.value if measure.confidence is None else measure.low
        is_tested = measure.code not in ("auc", "mu") and (measure.code != "tpr" or attack.kind == "lira")
        if most is None or least is None or not is_tested or least <= most * _ROUNDING:
            continue
        values = {
            "measure": capitalised(_measure_name(measure)),
            "least": _shown(measure.code, least),
            "most": _shown(measure.code, most),
        }
        sentence = _("{measure}: {least}; the claimed epsilon permits {most}.", **values)
        if measure.confidence is not None:
            sentence = _(
                "{measure}: at least {least}, with {confidence} confidence; the claimed epsilon permits {most}.",
                confidence=percentage(f"{100 * measure.confidence:.3g}"),
                **values,
            )
        yield Refutation(least, most, sentence)


def _refuted(subject: Subject, attacks: Sequence[Attached]) -> list[Refutation]:
    """Return the results of attacks that refute the guarantee of a private model."""
    return [refutation for attack in attacks for refutation in refutations(attack)] if subject.is_private else []


def attack_checks(subject: Subject, attacks: Sequence[Attached]) -> Iterator[Check]:
    """Yield the checks of all attacks; for several attacks of a kind, yield the most severe check."""
    tests = sum(measure.p_value is not None for attack in attacks for measure in attack.record.measures)
    alarm = alarm_share("attacks") / max(tests, 1)
    auc = partial(_auc, alarm=alarm)
    examined_by: dict[AttackKind, Callable[[Subject, Attached], Check | None]] = {
        "membership": auc,
        "lira": auc,
        "exact-membership": _exact,
        "exact-inference": _exact,
        "one-run": _bounded,
        "empirical": _bounded,
    }
    for kind, examined in examined_by.items():
        own = [attack for attack in attacks if attack.kind == kind]
        checks = [examined(subject, attack) or _unknown(subject, f"attack-{kind}") for attack in own]
        yield from sorted(checks, key=lambda check: _SEVERITY.index(check.status))[:1]
        if kind == "lira" and own:
            yield _rows(subject, own, alarm)
    refuted = _refuted(subject, attacks)
    if refuted:
        worst = refuted[0]
        sentence = _(
            "An attack refutes the claimed guarantee. {refutation} This is an error in the software: report it to the "
            "maintainers.",
            refutation=worst.sentence,
        )
        yield check("attack-refutation", "fail", sentence, worst.value, limit=worst.limit)


# Conclusive results come before "not_run".
_SEVERITY: tuple[Status, ...] = ("fail", "review", "not_run", "pass", "not_applicable")


def _unknown(subject: Subject, rule: str) -> Check:
    """Return the check of a record, such as a record from a file, that lacks the examined number."""
    most, strong = short(subject.appetite.most_guessed), short(subject.appetite.strong_epsilon)
    sentence = _("The record of the attack does not contain the number that this check examines.")
    return check(rule, "not_run", sentence, most=most, strong=strong)


def _auc(subject: Subject, attack: Attached, alarm: float) -> Check | None:
    """Return whether an attack gives members higher scores than other rows.

    The check passes if an AUC above the limit is excluded with 95 % confidence, even if a smaller AUC is significant.
    Otherwise a significant AUC needs review. If neither is shown, the check was not conclusive.
    """
    measure, record, limit = attack.record.measure("auc"), attack.record, subject.appetite.most_guessed
    if measure is None or measure.interval is None or measure.p_value is None:
        return None
    (low, high), can_show = measure.interval, attack.kind == "membership" or 2.0 ** -(record.repeats or 1) <= alarm
    is_beyond = measure.p_value <= alarm
    status: Status = "pass" if high <= limit and can_show else "review" if is_beyond else "not_run"
    values = {"auc": decimal(measure.value, 3), "low": decimal(low, 3), "high": decimal(high, 3)}
    sentences = [_(_BETTER if is_beyond else _NOT_SHOWN, method=printable(record.method), **values)]
    if status == "not_run" and attack.kind == "membership":
        sentences.append(_("More rows can show whether it is below {limit}.", limit=short(limit)))
    elif status == "not_run":
        sentences.append(_("More rows or repeats can show whether it is below {limit}.", limit=short(limit)))
    rule, sentence = f"attack-{attack.kind}", " ".join(sentences)
    return check(rule, status, sentence, measure.value, interval=measure.interval, limit=limit, most=short(limit))


_BETTER = N_(
    "The AUC of {method} is {auc} (95 % interval {low} to {high}), which is significantly better than guessing (0.5)."
)
_NOT_SHOWN = N_(
    "The AUC of {method} is {auc} (95 % interval {low} to {high}), which is not shown to be better than guessing (0.5)."
)


def _rows(subject: Subject, attacks: Iterable[Attached], alarm: float) -> Check:
    """Return whether fits with and without a row differ for some row, by the sign tests of all attacks by refits."""
    significant = [
        (attack.record, measure) for attack in attacks if (measure := attack.record.measure("significant_rows"))
    ]
    if not significant:
        return _unknown(subject, "attack-lira-rows")
    record, measure = min(significant, key=lambda pair: pair[1].p_value or 0.0)
    needed, repeats = ceil(log2(max(record.subject.rows, 1) / alarm)), record.repeats or 1
    is_shown = (measure.p_value or 0.0) <= alarm
    if is_shown:
        status: Status = "review" if subject.is_private else "fail"
        sentence = ngettext(
            "For {count} row, fits with and without the row differ significantly (Holm).",
            "For {count} rows, fits with and without the row differ significantly (Holm).",
            max(int(measure.value), 1),
        )
    elif repeats < needed:
        status = "not_run"
        sentence = ngettext(
            "{count} split is too few to show whether fits with and without a row differ; {needed} are needed.",
            "{count} splits are too few to show whether fits with and without a row differ; {needed} are needed.",
            repeats,
            needed=needed,
        )
    else:
        status, sentence = "pass", _("For no row do fits with and without the row differ significantly (Holm).")
    return check("attack-lira-rows", status, sentence, int(measure.value) if is_shown else 0, limit=0)


def _exact(subject: Subject, attack: Attached) -> Check | None:
    """Return whether computed numbers are within the limits of ε, as they are for any correct mechanism."""
    code = "privacy_loss" if attack.kind == "exact-membership" else "success"
    measure = attack.record.measure(code)
    most = None if measure is None else permitted(attack, measure)
    if measure is None or most is None:
        return None
    is_within = measure.value <= most * _ROUNDING
    sentence = _(
        "{measure}: {value}; epsilon permits {most}.",
        measure=capitalised(_measure_name(measure)),
        value=_shown(code, measure.value),
        most=_shown(code, most),
    )
    status: Status = "pass" if is_within else "fail"
    if not subject.is_private:
        weak = _("The model has no guarantee, so an attacker may achieve more.")
        status, sentence = "review", f"{sentence} {weak}"
    return check(f"attack-{attack.kind}", status, sentence, measure.value, limit=most)


def _bounded(subject: Subject, attack: Attached) -> Check | None:
    """Return whether a lower bound of the privacy loss is large; a small bound supports no release."""
    measure = attack.record.measure("epsilon")
    if measure is None:
        return None
    rule, limit = f"attack-{attack.kind}", permitted(attack, measure)
    strong = float(subject.appetite.strong_epsilon)
    sentence = _(
        "The privacy loss of the learner is at least {loss} ({confidence} confidence; method: {method}).",
        loss=number(f"{measure.value:.3g}"),
        confidence=percentage(f"{100 * (measure.confidence or 0):g}"),
        method=_(_NAMES[attack.kind]),
    )
    if limit is not None and subject.is_private:
        status: Status = "pass" if measure.value <= limit * _ROUNDING else "fail"
        stated = _("Epsilon is {epsilon}.", epsilon=short(limit))
        return check(rule, status, f"{sentence} {stated}", measure.value, limit=limit, strong=short(strong))
    limit = strong
    status = "review" if measure.value > limit else "not_applicable"
    if status == "not_applicable":
        remark = _("A small lower bound does not support a release.")
        sentence = f"{sentence} {remark}"
    return check(rule, status, sentence, measure.value, limit=limit, strong=short(limit))


def exposure(
    subject: Subject, attacks: Sequence[Attached], train: Pair | None, by: Sequence[str]
) -> tuple[Section, ...]:
    """Return the largest advantage of the best attack in each group of the training rows; () if it is not known."""
    results = [attack.result for attack in attacks if attack.table == "training"]
    exact = [result for result in results if isinstance(result, ExactMembership)]
    if not exact or train is None or not by:
        return ()
    result, rows = exact[0], LabelledRows.of(*train)
    schema = None if result.subject is None or result.subject.schema is None else subject.schema
    if result.order is None or result.order != order_digest(rows, schema):
        return ()
    grids, worst = list[Grid](), list[tuple[float, str]]()
    for name in by:
        names, codes = groups_of(rows.table, subject.schema, name)
        groups = [(shown_text(own), result.advantage[: len(rows)][codes == code]) for code, own in enumerate(names)]
        lines = [(group, len(own), float(own.max()), float(own.mean())) for group, own in groups if len(own)]
        lines.sort(key=lambda line: -line[2])
        columns = (
            Column("group", name, True),
            Column("rows", _("rows")),
            Column("worst_advantage", _("largest advantage")),
            Column("mean_advantage", _("mean advantage")),
        )
        grids.append(Grid(f"by_{len(grids) + 1}", _("By {column}", column=name), columns, tuple(lines)))
        worst += [(line[2], f"{name} = {line[0]}") for line in lines[:1]]
    advantage, group = max(worst, default=(0.0, ""))
    return (section("exposure", grids=grids, group=group, advantage=decimal(100 * advantage, 2)),)


def attack_tags(attacks: Sequence[Attached]) -> set[str]:
    """Return the attacks that were carried out, as the tags that checks require."""
    kinds = {attack.kind for attack in attacks}
    return {f"{kind}-attack" for kind in kinds} | ({"attached"} if kinds else set())
