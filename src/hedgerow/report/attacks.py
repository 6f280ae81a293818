"""The section and the checks of attacks attached to a report, beside what ε permits. **Private**."""

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
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.comparisons import Pair, alarm_share
from hedgerow.report.contents import Cell, Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.promises import largest_rate
from hedgerow.report.subject import Subject
from hedgerow.text.messages import capitalised, number_of
from hedgerow.text.values import printable, shown_text

_TABLES: dict[TableMatch, str] = {
    "training": "the training rows",
    "all": "training and held-out rows together",
    "made": "tables made for the attack",
    "not_compared": "not compared with the rows",
}
_NAMES: dict[AttackKind, str] = {
    "membership": "membership inference",
    "lira": "membership inference by refits",
    "exact-membership": "the best membership inference",
    "exact-inference": "the best inference among candidates",
    "one-run": "guesses of the rows of one run",
    "empirical": "runs on neighbouring tables",
}
_ROUNDING = 1 + 1e-9
_LEAST_SHARE = 1e-6  # that is printed; a smaller one is printed as 0
_SHOWN = 24  # measures on a page


def largest_auc(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest area under the ROC curve of any test: the area above the trade-off curve of (ε, δ)."""
    return 1 - (1 - float(delta)) ** 2 / (1 + _power(epsilon))


def largest_advantage(epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest difference of true and false positive rate of any test (Kairouz, Oh and Viswanath, 2015)."""
    half = tanh(min(float(epsilon), 1400.0) / 2)
    return min(half + float(delta) * (1 - half), 1.0)


def largest_success(epsilon: Fraction, baseline: float) -> float:
    """Return the largest chance to guess right of an attacker whose best guess is right with `baseline` without it."""
    grown = _power(epsilon) * baseline
    return grown / (grown + 1 - baseline)


def _power(epsilon: Fraction) -> float:
    return expm1(min(float(epsilon), 700.0)) + 1


def permitted(attack: Attached, measure: AttackMeasure) -> float | None:
    """Return the most that the ε of the learner permits of a measure; None without a guarantee, or without a bound.

    The rows of one split of "membership" are as many whoever is in it, and a row of "exact-inference" is one of some
    candidates: one row is replaced by another, for which the loss of two rows is permitted.
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
    epsilon, delta, _ = group_privacy(*bound, None, rows)
    return epsilon, delta


def attack_section(subject: Subject, attacks: Sequence[Attached]) -> Section:
    refuted = _refuted(subject, attacks)
    facts = [SheetLine("attacks", "attacks that were carried out", f"{len(attacks)}", len(attacks))]
    refutation = refuted[0].sentence if refuted else ""
    grids = [_list(attacks), _measures(subject, attacks)] if attacks else []
    bound = None if subject.bound is None else amount_text(subject.bound[0])
    return section(
        "attacks", facts if attacks else [], grids, attacks=attacks, refutation=refutation, epsilon=bound, names=_NAMES
    )


def _list(attacks: Sequence[Attached]) -> Grid:
    columns = (
        Column("attack", "attack", is_text=True),
        Column("method", "method", is_text=True),
        Column("learner", "learner", is_text=True),
        Column("epsilon", "epsilon"),
        Column("table", "rows attacked"),
        Column("rows", "rows"),
        Column("repeats", "repeats"),
    )
    rows = list[tuple[GridValue, ...]]()
    for place, one in enumerate(attacks, 1):
        record, attacked = one.record, one.record.subject
        epsilon = Cell("none") if attacked.epsilon is None else Cell(str(attacked.epsilon), float(attacked.epsilon))
        repeats = Cell("computed") if record.repeats is None else record.repeats
        names = (f"{place}. {_NAMES[one.kind]}", printable(record.method), printable(attacked.learner))
        rows.append((*names, epsilon, Cell(_TABLES[one.table], one.table), attacked.rows, repeats))
    return Grid("attacks", "Attacks on the learner", columns, tuple(rows))


_MEASURES: dict[str, str] = {
    "auc": "AUC (guessing has 0.5)",
    "tpr": "members found at a false positive rate of {at}",
    "significant_rows": "rows whose fits differ with and without the row",
    "advantage": "largest advantage on a row",
    "privacy_loss": "largest privacy loss of a row",
    "label_advantage": "largest advantage on a label",
    "success": "chance to guess right",
    "baseline": "chance to guess right without the model",
    "models": "models that the attacker sees",
    "epsilon": "lower bound of epsilon",
    "mu": "lower bound of mu (Gaussian)",
}
_SHARES = ("tpr", "advantage", "label_advantage", "success", "baseline")


def _measures(subject: Subject, attacks: Sequence[Attached]) -> Grid:
    columns = (
        Column("attack", "attack", is_text=True),
        Column("measure", "measure"),
        Column("fpr", "at a false positive rate"),
        Column("value", "reached"),
        Column("interval", "interval"),
        Column("permitted", "epsilon permits at most"),
    )
    rows = list[tuple[GridValue, ...]]()
    for place, one in enumerate(attacks, 1):
        for measure in one.record.measures:
            at = "" if measure.at is None else f"{100 * measure.at:g} %"
            name = _MEASURES[measure.code].format(at=at)
            most = permitted(one, measure) if subject.is_private else None
            cells = (
                Cell(name, measure.code),
                Cell("", measure.at),
                Cell(_shown(measure.code, measure.value), measure.value, measure.interval),
                Cell(_interval(measure)),
                Cell("" if most is None else _shown(measure.code, most), most),
            )
            rows.append((f"{place}. {_NAMES[one.kind]}", *cells))
    return Grid("attack_measures", "What the attacks reached, and what epsilon permits", columns, tuple(rows), _SHOWN)


def _shown(code: str, value: float) -> str:
    if code in _SHARES:
        return f"{100 * value:.3g} %" if value >= _LEAST_SHARE else "0 %"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _interval(measure: AttackMeasure) -> str:
    if measure.confidence is None:
        return ""
    low, high = (None if end is None else _shown(measure.code, end) for end in (measure.low, measure.high))
    span = f"{low} or more" if high is None else f"{low} to {high}"
    return f"{span} ({100 * measure.confidence:.3g} %)"


class Refutation(NamedTuple):
    """An attack that reached more than the ε of the learner permits."""

    value: float
    limit: float
    sentence: str


def refutations(attack: Attached) -> Iterator[Refutation]:
    """Yield what an attack reached beyond what the claimed guarantee permits, at the confidence of its intervals."""
    for measure in attack.record.measures:
        most = permitted(attack, measure)
        least = measure.value if measure.confidence is None else measure.low
        is_tested = measure.code not in ("auc", "mu") and (measure.code != "tpr" or attack.kind == "lira")
        if most is None or least is None or not is_tested or least <= most * _ROUNDING:
            continue
        at = "" if measure.at is None else f"{100 * measure.at:g} %"
        sure = "" if measure.confidence is None else f", at {100 * measure.confidence:.3g} % confidence"
        what = f"{_MEASURES[measure.code].format(at=at)}: at least {_shown(measure.code, least)}{sure}"
        limit = f"the claimed epsilon permits {_shown(measure.code, most)}"
        yield Refutation(least, most, f"{capitalised(what)}; {limit}.")


def _refuted(subject: Subject, attacks: Sequence[Attached]) -> list[Refutation]:
    """Return what attacks reached beyond the guarantee of a model that has one."""
    return [found for one in attacks for found in refutations(one)] if subject.is_private else []


def attack_checks(subject: Subject, attacks: Sequence[Attached]) -> Iterator[Check]:
    """Yield the checks of all attacks: of several of a kind the gravest one."""
    tests = sum(measure.p_value is not None for one in attacks for measure in one.record.measures)
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
        own = [one for one in attacks if one.kind == kind]
        found = [examined(subject, one) or _unknown(subject, f"attack-{kind}") for one in own]
        yield from sorted(found, key=lambda one: _GRAVEST.index(one.status))[:1]
        if kind == "lira" and own:
            yield _rows(subject, own, alarm)
    refuted = _refuted(subject, attacks)
    if refuted:
        advice = "This is a fault of the software: report it to its maintainers"
        worst = refuted[0]
        sentence = f"An attack refutes the claimed guarantee. {worst.sentence} {advice}."
        yield check("attack-refutation", "fail", sentence, worst.value, limit=worst.limit)


_GRAVEST: tuple[Status, ...] = (
    "fail",
    "review",
    "not_run",
    "pass",
    "not_applicable",
)  # what is shown, then what is not


def _unknown(subject: Subject, rule: str) -> Check:
    """Return the check of a record without the number that is examined, as a file may be."""
    most, strong = subject.appetite.most_guessed, subject.appetite.strong_epsilon
    sentence = "The record of the attack does not have the number that is examined."
    return check(rule, "not_run", sentence, most=most, strong=strong)


def _auc(subject: Subject, attack: Attached, alarm: float) -> Check | None:
    """Return whether an attack scores members above other rows.

    An AUC above the limit that is excluded with 95 % confidence passes, even if a smaller one is beyond chance.
    Otherwise an AUC beyond chance needs review. If neither is shown, the check was not conclusive.
    """
    measure, record, limit = attack.record.measure("auc"), attack.record, subject.appetite.most_guessed
    if measure is None or measure.interval is None or measure.p_value is None:
        return None
    (low, high), can_show = measure.interval, attack.kind == "membership" or 2.0 ** -(record.repeats or 1) <= alarm
    is_beyond = measure.p_value <= alarm
    status: Status = "pass" if high <= limit and can_show else "review" if is_beyond else "not_run"
    words = "better than guessing" if is_beyond else "not shown to be better than guessing"
    reached = f"The AUC of {printable(record.method)} is {measure.value:.3f} (95 % interval {low:.3f} to {high:.3f})"
    sentence = f"{reached}: {words}, which has 0.5."
    if status == "not_run":
        needed = "rows" if attack.kind == "membership" else "rows or repeats"
        sentence += f" More {needed} can show whether it is below {limit:g}."
    return check(
        f"attack-{attack.kind}", status, sentence, measure.value, interval=measure.interval, limit=limit, most=limit
    )


def _rows(subject: Subject, attacks: Iterable[Attached], alarm: float) -> Check:
    """Return whether fits with and without a row differ for some row, by the sign tests of all attacks by refits."""
    found = [(one.record, measure) for one in attacks if (measure := one.record.measure("significant_rows"))]
    if not found:
        return _unknown(subject, "attack-lira-rows")
    record, measure = min(found, key=lambda pair: pair[1].p_value or 0.0)
    needed = ceil(log2(max(record.subject.rows, 1) / alarm))
    is_shown, rows = (measure.p_value or 0.0) <= alarm, number_of(max(int(measure.value), 1), "row")
    if is_shown:
        status: Status = "review" if subject.is_private else "fail"
        sentence = f"Fits with and without the row differ significantly (Holm) for {rows}."
    elif (record.repeats or 1) < needed:
        few = f"{number_of(record.repeats or 1, 'split')} can show it of no row; {needed} can"
        status, sentence = "not_run", f"Whether fits with and without a row differ is not known: {few}."
    else:
        status, sentence = "pass", "Fits with and without a row differ significantly (Holm) for no row."
    return check("attack-lira-rows", status, sentence, int(measure.value) if is_shown else 0, limit=0)


def _exact(subject: Subject, attack: Attached) -> Check | None:
    """Return whether computed numbers are within what ε permits; of a model whose noise is known they say nothing."""
    code = "privacy_loss" if attack.kind == "exact-membership" else "success"
    measure = attack.record.measure(code)
    most = None if measure is None else permitted(attack, measure)
    if measure is None or most is None:
        return None
    is_within, reached = measure.value <= most * _ROUNDING, _shown(code, measure.value)
    sentence = f"{capitalised(_MEASURES[code])}: {reached}; epsilon permits {_shown(code, most)}."
    status: Status = "pass" if is_within else "fail"
    if not subject.is_private:
        status, sentence = "review", f"{sentence} The model has no guarantee, so that an attacker may do better."
    return check(f"attack-{attack.kind}", status, sentence, measure.value, limit=most)


def _bounded(subject: Subject, attack: Attached) -> Check | None:
    """Return whether a lower bound of the privacy loss is large; a small one supports nothing."""
    measure = attack.record.measure("epsilon")
    if measure is None:
        return None
    rule, limit = f"attack-{attack.kind}", permitted(attack, measure)
    strong = float(subject.appetite.strong_epsilon)
    sure = f"{100 * (measure.confidence or 0):g} % confidence"
    sentence = f"The privacy loss of the learner is at least {measure.value:.3g} ({sure}), by {_NAMES[attack.kind]}."
    if limit is not None and subject.is_private:
        status: Status = "pass" if measure.value <= limit * _ROUNDING else "fail"
        return check(rule, status, f"{sentence} Epsilon is {limit:g}.", measure.value, limit=limit, strong=strong)
    limit = strong
    status = "review" if measure.value > limit else "not_applicable"
    more = "" if status == "review" else " A small lower bound supports no release."
    return check(rule, status, sentence + more, measure.value, limit=limit, strong=limit)


def exposure(
    subject: Subject, attacks: Sequence[Attached], train: Pair | None, by: Sequence[str]
) -> tuple[Section, ...]:
    """Return the largest advantage of the best attack in each group of the training rows; () if it is not known."""
    exact = [one.result for one in attacks if isinstance(one.result, ExactMembership) and one.table == "training"]
    if not exact or train is None or not by:
        return ()
    found, rows = exact[0], LabelledRows.of(*train)
    schema = None if found.subject is None or found.subject.schema is None else subject.schema
    if found.order is None or found.order != order_digest(rows, schema):
        return ()
    grids, worst = list[Grid](), list[tuple[float, str]]()
    for name in by:
        names, codes = groups_of(rows.table, subject.schema, name)
        own = [(shown_text(one), found.advantage[: len(rows)][codes == code]) for code, one in enumerate(names)]
        lines = [(group, len(each), float(each.max()), float(each.mean())) for group, each in own if len(each)]
        lines.sort(key=lambda line: -line[2])
        columns = (
            Column("group", name, True),
            Column("rows", "rows"),
            Column("worst_advantage", "worst advantage"),
            Column("mean_advantage", "mean advantage"),
        )
        grids.append(Grid(f"by_{len(grids) + 1}", f"By {name}", columns, tuple(lines)))
        worst += [(line[2], f"{name} = {line[0]}") for line in lines[:1]]
    advantage, group = max(worst, default=(0.0, ""))
    return (section("exposure", grids=grids, group=group, advantage=advantage),)


def attack_tags(attacks: Sequence[Attached]) -> set[str]:
    """Return which attacks were carried out, as checks name what they need."""
    kinds = {one.kind for one in attacks}
    return {f"{kind}-attack" for kind in kinds} | ({"attached"} if kinds else set())
