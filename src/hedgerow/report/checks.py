"""Checks of a report: their catalogue, the rule and the source of each, and the status of those that found nothing."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from hedgerow.report.appetite import Appetite
from hedgerow.text.messages import capitalised, number_of

SheetKind = Literal["public", "board"]  # of which sheet something is: of the public one, or of that for the board
Interval = tuple[float, float]
Status = Literal["fail", "not_run", "review", "pass", "not_applicable"]
"""The status of a check: ``not_run`` if what it needs was not given, ``not_applicable`` if the model cannot fail it."""
STATUSES: tuple[Status, ...] = ("fail", "not_run", "review", "pass", "not_applicable")  # the gravest first


@dataclass(frozen=True)
class Check:
    """One check of a report, with its status and the rule that decided it.

    Attributes
    ----------
    key : str
        The check's stable id, the same in every language.
    version : int
        The version of its rule.
    section : str
        The key of the section that has the numbers.
    status : {"fail", "not_run", "review", "pass", "not_applicable"}
        What the rule says.
    sentence : str
        What was found, for people.
    threshold, source : str
        The rule in words, and where it comes from.
    value : int or float, optional
        The number that the rule was applied to.
    interval : tuple of (float, float), optional
        The 95 % interval of the value.
    limit : float, optional
        The number that the value was compared with.
    essential : bool
        True if a sheet on which this check was not run cannot support a release.
    informative : bool
        True for an exact function of the rows of a model with a guarantee, which no decision may depend on.
    model : str
        On a sheet that compares several models, what the model is called there.
    rule : str
        The id of the rule, if the check has several: the key, or the key with a suffix, such as ``caveat/empty``.
    """

    key: str
    version: int
    section: str
    status: Status
    sentence: str
    threshold: str
    source: str
    value: int | float | None = None
    interval: tuple[float, float] | None = None
    limit: int | float | None = None
    essential: bool = False
    informative: bool = False
    model: str = ""
    rule: str = ""

    @property
    def title(self) -> str:
        """What the check is about, in a few words."""
        return CATALOGUE[self.key].title

    @property
    def rank(self) -> int:
        """The place of its status among all, the gravest first."""
        return STATUSES.index(self.status)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        values = {"id": self.key, **vars(self), "interval": interval_dict(self.interval)}
        del values["key"]
        return values


def interval_dict(interval: Interval | None, confidence: float = 0.95) -> dict[str, float] | None:
    """Return an interval as JSON-ready data."""
    return None if interval is None else {"low": interval[0], "high": interval[1], "confidence": confidence}


class Kind(NamedTuple):
    """What a kind of check examines, when it applies, and what it needs."""

    title: str  # what is examined, in a few words
    passed: str  # the sentence if nothing is found
    applies: Sequence[str] = ()  # what the model must be or have; otherwise the check is not applicable
    needs: Sequence[str] = ()  # what must be given; otherwise the check is not run
    essential: Sequence[str] = ()  # models for which a sheet without this check supports no release
    sheets: Sequence[SheetKind] = ("public", "board")
    version: int = 2
    absent: str = "not applicable to this model"  # why a check whose `applies` is not met says nothing


_NO_GUARANTEE, _GUARANTEE = "no-guarantee", "guarantee"
_BOARD: Sequence[SheetKind] = ("board",)
_NO_BETTER, _NO_LOSS = "The attack is no better than guessing.", "No loss is above epsilon."
_ESSENTIAL = (_NO_GUARANTEE,)
_STORED = ("contents",)


def _attack(title: str, passed: str, *applies: str) -> Kind:
    """Return a kind of check of an attached attack."""
    absent = "no such attack was given, or there is no guarantee to compare it with"
    return Kind(title, passed, applies, sheets=_BOARD, absent=absent)


NEEDS: dict[str, str] = {
    "record": "the record of all releases of the table (--ledger)",
    "evaluation": "an evaluation (--evaluation)",
    "counts": "the numbers of rows of the leaves, by released counts or by the training rows (--data)",
    "class-counts": "the numbers of rows of each class in the leaves, by released counts or the training rows (--data)",
    "possible-rows": "the training rows (--data) of a model whose possible rows can be counted",
    "contents": "what the model stores",
    "rows": "the training rows (--data)",
    "labelled": "training or held-out rows (--data, --test)",
    "both": "training rows and held-out rows (--data and --test), with rows of every class in both",
    "second-unit-rows": "the training rows with the column of the second unit (--data)",
    "held-out": "held-out rows (--test)",
    "groups": "columns whose groups are compared (--by, or the form's sensitive attributes)",
    "attack": "a membership attack (--attack), or, of a model with leaves, training and held-out rows that are "
    "enough to show or exclude it",
}
"""What checks need, and how it is given; a check that lacks it is not run and says so."""

CATALOGUE: dict[str, Kind] = {
    "guarantee": Kind("the guarantee", "The card states a guarantee.", essential=(_GUARANTEE,)),
    "rows-per-person": Kind(
        "how many rows a person has",
        "The guarantee is for all rows of a person.",
        (_GUARANTEE,),
        essential=(_GUARANTEE,),
    ),
    "thresholds": Kind(
        "thresholds on numbers",
        "Thresholds are public, or were learned under a charge.",
        ("own-thresholds",),
    ),
    "delta": Kind("delta", "The guarantee has no exception: delta is 0.", (_GUARANTEE,)),
    "noise": Kind("the source of noise", "The card names the source of the noise.", (_GUARANTEE,)),
    "declared": Kind("charges of the card", "Every charge was recorded by the software.", (_GUARANTEE,)),
    "releases": Kind(
        "all releases of the table",
        "The record has all releases.",
        (_GUARANTEE,),
        ("record",),
        (_GUARANTEE,),
    ),
    "record": Kind("the record of this model", "The record has this model's charges.", (_GUARANTEE,), ("record",)),
    "form": Kind("the form", "The form states what the model is for, who answers for it, and how it was chosen."),
    "small-leaves": Kind("rows of each leaf", "No leaf has few rows.", ("leaves",), ("counts",), _ESSENTIAL),
    "units": Kind("units in each leaf", "Leaves have rows of enough units.", ("leaves", "unit"), ("counts",)),
    "second-units": Kind(
        "households or institutions in each leaf",
        "Leaves have persons of enough households or institutions.",
        ("leaves", "second-unit"),
        ("second-unit-rows",),
        (_NO_GUARANTEE,),
        _BOARD,
    ),
    "identifiers": Kind(
        "identifiers of persons in the rows",
        "No column of the rows looks like an undeclared identifier of persons with several rows.",
        (),
        ("rows",),
        sheets=_BOARD,
    ),
    "small-bins": Kind("rows of each bin", "No bin whose rows are in the file has few rows.", ("points",)),
    "counts": Kind(
        "stored counts and the rows given",
        "The rows have the counts that the model stores.",
        (),
        ("rows",),
        sheets=_BOARD,
    ),
    "dominance": Kind(
        "dominance of one row in a leaf",
        "In no leaf can others tell a row by the sum.",
        ("leaves", "number", _NO_GUARANTEE),
        ("rows",),
        sheets=_BOARD,
    ),
    "pure-leaves": Kind(
        "class disclosure", "No leaf has rows of one class alone.", ("leaves",), ("class-counts",), _ESSENTIAL
    ),
    "few-of-class": Kind(
        "rows of each class in a leaf", "No leaf has few rows of a class.", ("leaves", "classes"), ("class-counts",)
    ),
    "joint-cells": Kind(
        "rows that all trees together single out",
        "No row is alone in its combination of leaves.",
        ("ensemble",),
        ("rows", "counts"),
        sheets=_BOARD,
    ),
    "known-rows": Kind(
        "leaves with one possible row",
        "No row is the only one that is possible in its leaf.",
        ("leaves", "schema"),
        ("possible-rows",),
    ),
    "accuracy": Kind("accuracy and a constant", "The model is better.", ("comparable",), ("labelled",), sheets=_BOARD),
    "caveat": Kind("use of the model", "The released numbers show no problem of the model.", (_GUARANTEE,)),
    "groups": Kind(
        "groups and a constant",
        "No group is shown to be served worse.",
        ("comparable",),
        ("labelled", "groups"),
        sheets=_BOARD,
    ),
    "separation": Kind(
        "leaves of training rows and of held-out rows",
        "Training rows and held-out rows are in the same leaves.",
        ("leaves",),
        ("both",),
        sheets=_BOARD,
    ),
    "membership": Kind(
        "membership inference",
        "Membership inference was examined, by attacks or by the leaves; other checks have the result.",
        (),
        ("attack",),
        _ESSENTIAL,
        _BOARD,
    ),
    "attack-membership": _attack("membership inference over random splits", _NO_BETTER, "membership-attack"),
    "attack-lira": _attack("membership inference by refits", _NO_BETTER, "lira-attack"),
    "attack-lira-rows": _attack("rows that refits tell apart", "No row is told apart.", "lira-attack"),
    "attack-exact-membership": _attack("the best membership inference", _NO_LOSS, "exact-membership-attack"),
    "attack-exact-inference": _attack(
        "the best inference among candidates",
        "The chance to guess right is no larger than epsilon permits.",
        "exact-inference-attack",
    ),
    "attack-one-run": _attack("the privacy loss shown by one run", _NO_LOSS, "one-run-attack"),
    "attack-empirical": _attack("the privacy loss shown by many runs", _NO_LOSS, "empirical-attack"),
    "attack-refutation": _attack(
        "attacks and the claimed guarantee", "No attack reached more than epsilon permits.", "attached", _GUARANTEE
    ),
    "file-rows": Kind("rows of data in the model", "No row of data is in the model.", (), _STORED),
    "file-extremes": Kind(
        "least and largest values in the model", "No least or largest value is in the model.", (), _STORED
    ),
    "file-statistics": Kind("statistics of rows in the model", "No statistics of rows are in the model.", (), _STORED),
    "file-bounds": Kind("bounds in the model", "The model has no bounds but those of the schema.", (), _STORED),
    "file-values": Kind(
        "names and values in the model", "The model has no names and values but those of the schema.", (), _STORED
    ),
    "file-counts": Kind("counts in the model", "Every number of rows is read as a count of a leaf.", (), _STORED),
    "file-text": Kind("free text in the model", "No free text is in the model.", (), _STORED),
    "file-unread": Kind("parts of the model that were not read", "Every part of the model was read.", (), _STORED),
}
"""All kinds of checks by their stable id."""
MEMBERSHIP_CHECKS = ("separation", "attack-membership", "attack-lira", "attack-lira-rows", "attack-exact-membership")
"""The checks of membership inference, of which one must have been run for a model without a guarantee."""
BOARD_ONLY = frozenset(key for key, kind in CATALOGUE.items() if kind.sheets == _BOARD)
"""The checks that only the sheet for the board has."""

_TIERS = "Ponomareva et al., How to DP-fy ML, JAIR 77 (2023)"
_CRYPTIC_DELTA = (
    "Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section 2.3: a delta of 1/n permits "
    "to publish a whole row"
)
_RULE_OF_TEN = "safe_threshold of ACRO, 10; the rule of 10 of the Australian Bureau of Statistics' DataLab"
_ENTITIES = (
    "10 units and a dominance of 50 %: ESSnet SDC, Guidelines for the checking of output based on microdata research "
    "(2010); the Bundesbank's sdcLog counts distinct entities in the same way"
)
_GROUP_PRIVACY = "group privacy: Vadhan, The Complexity of Differential Privacy (2017), Lemma 2.2"
_P_RATIO = "the p % rule: safe_pratio_p of ACRO, 0.1; Hundepool et al., Statistical Disclosure Control (2012)"
_CLASSES = "class disclosure: Hundepool et al., Statistical Disclosure Control (2012); SACRO-ML's structural attack"
_HOLM = "Holm (1979): sign tests of all rows; false alarms of 1 % for all attacks together"
_STEINKE = "Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run (NeurIPS 2023)"
_JAGIELSKI = "Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning (NeurIPS 2020)"
_DEFINITION = "the definition of differential privacy"
_HOUSE = "this report; no threshold is published"
_PAIRED = (
    "McNemar (1947) for right and wrong, with Edwards' correction (1948); Student's t for costs and errors; by units "
    "if a unit has several rows; on held-out rows"
)
_PERMUTED = "permutation of units; normal bound on V; 55 % is what epsilon = 0.2 permits, a threshold of this report"
_AUC_RULE = (
    "an AUC above {most:g} is excluded with 95 % confidence; otherwise an AUC beyond chance (1 % for all attacks "
    "together) needs review"
)
_LOSS_RULE = "no lower bound above epsilon; without a guarantee above {strong:g}"
_AUC = "Hanley and McNeil (1982), or Student's t over splits; 0.55 is a threshold of this report"
_NOISE = "the noise on the released counts, by the card"
_GROUPS = "Holm (1979) over the paired tests of all groups; the limit of a deficit is a threshold of this report"
_TIER = "epsilon up to {strong:g} passes; up to {largest:g}: review; above: fail"

_DATA = "a model is released as a file; ACRO: least and largest values are values of single rows"

_BEYOND = "beyond the noise (95 % for all leaves together), or epsilon up to {strong:g}"
_OWN = "the project's risk appetite; ACRO's threshold is 10"


class Rule(NamedTuple):
    """The section that has the numbers of a check, the rule of its status, and where the rule is from."""

    section: str
    threshold: str
    source: str


RULES: dict[str, Rule] = {
    "guarantee": Rule("guarantee", "a guarantee of differential privacy", _DEFINITION),
    "guarantee/reason": Rule("guarantee", "no reason on the card voids it", _DEFINITION),
    "guarantee/tier": Rule("guarantee", _TIER, _TIERS),
    "rows-per-person": Rule("guarantee", "the guarantee is for persons, or their rows are stated", _GROUP_PRIVACY),
    "thresholds": Rule("unprotected", "thresholds are public, or learned under a charge", _HOUSE),
    "delta": Rule("guarantee", "delta = 0 passes; from 1/n on: fail", _CRYPTIC_DELTA),
    "noise": Rule("noise", "noise is drawn", _DEFINITION),
    "declared": Rule("charges", "every charge is of the software's own record", _HOUSE),
    "releases": Rule("releases", "a record of all releases", _HOUSE),
    "releases/tier": Rule("releases", _TIER, _TIERS),
    "record": Rule("releases", "the card's epsilon is in the record", _HOUSE),
    "record/file": Rule("releases", "the file is one that the record has", _HOUSE),
    "record/evaluation": Rule("releases", "the record has the evaluation's charge", _HOUSE),
    "form": Rule("statements", "the form is filled in", _HOUSE),
    "small-leaves": Rule("leaves", "at least {least} in every leaf", _RULE_OF_TEN),
    "small-leaves/noisy": Rule("leaves", f"at least {{least}} in every leaf, {_BEYOND}", _RULE_OF_TEN),
    "units": Rule("leaves", "units are counted, or leaves have as many rows as that many units may have", _HOUSE),
    "second-units": Rule(
        "leaves", "at least {fewest} units in every leaf, none with more than {share:g} % of its persons", _ENTITIES
    ),
    "identifiers": Rule("leaves", "the form or the schema names the column that identifies persons", _HOUSE),
    "small-bins": Rule("leaves", "at least {least} in every bin whose rows are in the file", _RULE_OF_TEN),
    "small-leaves/own": Rule("leaves", "at least {least} in every leaf", _OWN),
    "small-leaves/own-noisy": Rule("leaves", f"at least {{least}} in every leaf, {_BEYOND}", _OWN),
    "counts": Rule(
        "leaves",
        "equal counts; of noisy ones, a difference that noise makes more often than once in 10^6 cases",
        _NOISE,
    ),
    "dominance": Rule("leaves", "no row that others can tell to within {percent:g} % by the sum of its leaf", _P_RATIO),
    "pure-leaves": Rule("leaves", "no leaf of one class", _CLASSES),
    "pure-leaves/noisy": Rule("leaves", "no leaf of one class, or epsilon up to {strong:g}", _CLASSES),
    "few-of-class": Rule("leaves", "at least {least} of every class that a leaf has", _CLASSES),
    "few-of-class/noisy": Rule("leaves", "at least {least} of every class, or epsilon up to {strong:g}", _CLASSES),
    "pure-leaves/number": Rule("leaves", "no leaf of one level", _CLASSES),
    "joint-cells": Rule("leaves", "no row alone in its combination of the leaves of all trees", _HOUSE),
    "known-rows": Rule("reconstruction", "no leaf with one possible row", _HOUSE),
    "accuracy": Rule("accuracy", "better than the commonest class, 95 % interval above 0", _PAIRED),
    "accuracy/cost": Rule("accuracy", "less than the cost of always one class, 95 % interval above 0", _PAIRED),
    "accuracy/number": Rule("accuracy", "less error than a constant, 95 % interval above 0", _PAIRED),
    "caveat/constant": Rule("model", "not the same prediction for all rows", _HOUSE),
    "caveat/no-better": Rule("model", "better than always one class, 95 % interval by the noise above 0", _NOISE),
    "caveat/unclear": Rule("model", "better than always one class, 95 % interval by the noise above 0", _NOISE),
    "caveat/unreachable": Rule("model", "every leaf can be reached", _HOUSE),
    "caveat/unexamined": Rule("model", "every leaf can be reached", _HOUSE),
    "caveat/partial": Rule("model", "counts of all leaves, or of none", _HOUSE),
    "caveat/empty": Rule("model", "more rows in every leaf than the noise, at 95 % each", _NOISE),
    "groups": Rule(
        "accuracy",
        "no group worse than a constant (p > 0.01 for all together), and a deficit of more than {most} excluded (95 %)",
        _GROUPS,
    ),
    "separation": Rule(
        "membership", "at most {most:g} % right guesses with 95 % confidence; if more, p > 0.005", _PERMUTED
    ),
    "membership": Rule("membership", "an attack was measured", _HOUSE),
    "attack-membership": Rule("attacks", _AUC_RULE, _AUC),
    "attack-lira": Rule("attacks", _AUC_RULE, _AUC),
    "attack-lira-rows": Rule("attacks", "no such row", _HOLM),
    "attack-exact-membership": Rule("attacks", "no more than epsilon", _DEFINITION),
    "attack-exact-inference": Rule("attacks", "no more than epsilon permits from the best guess on", _DEFINITION),
    "attack-one-run": Rule("attacks", _LOSS_RULE, _STEINKE),
    "attack-empirical": Rule("attacks", _LOSS_RULE, _JAGIELSKI),
    "attack-refutation": Rule("attacks", "no attack beyond what epsilon permits", _DEFINITION),
    "file-rows": Rule("model", "no row of data in the file", _DATA),
    "file-extremes": Rule("model", "no least or largest value of rows in the file", _DATA),
    "file-statistics": Rule("model", "no statistics of rows in the file", _HOUSE),
    "file-bounds": Rule("model", "no bounds but those of the schema", _HOUSE),
    "file-values": Rule("model", "no names and values but those of the schema", _HOUSE),
    "file-counts": Rule("model", "every number of rows is read as a count of a leaf", _HOUSE),
    "file-text": Rule("model", "no free text in the file", _HOUSE),
    "file-unread": Rule("model", "every part of the model is looked into", _HOUSE),
}
"""All rules; the part of a name before a slash is the key of its check in the catalogue."""


def check(
    rule: str,
    status: Status,
    sentence: str,
    value: int | float | None = None,
    *,
    limit: int | float | None = None,
    interval: tuple[float, float] | None = None,
    **numbers: object,
) -> Check:
    """Return a check by a rule; `numbers` are those of the rule's text."""
    section, threshold, source = RULES[rule]
    key, _, _ = rule.partition("/")
    text = threshold.format(**numbers)
    version = CATALOGUE[key].version
    return Check(key, version, section, status, sentence, text, source, value, interval, limit, rule=rule)


def rule_text(key: str, appetite: Appetite) -> str:
    """Return the rule of a check that found nothing, with the thresholds of a risk appetite."""
    most = {"groups": f"{100 * appetite.largest_deficit:g} %", "separation": 100 * appetite.most_guessed}
    numbers = {
        "least": number_of(appetite.fewest_rows, "row"),
        "fewest": appetite.fewest_rows,
        "share": 100 * appetite.largest_unit,
        "strong": appetite.strong_epsilon,
        "largest": appetite.largest_epsilon,
        "percent": 100 * appetite.dominance,
        "most": most.get(key, appetite.most_guessed),
    }
    return RULES[_first_rule(key)].threshold.format(**numbers)


def _first_rule(key: str) -> str:
    return next(name for name in RULES if name.partition("/")[0] == key)


def completed(checks: Iterable[Check], kind: SheetKind, present: Collection[str]) -> tuple[Check, ...]:
    """Return all checks of a sheet: those given, and the others of the catalogue with the status that follows.

    `present` has what the model is, and what was given. A check that found nothing passes if all that it needs is
    present.
    """
    given = tuple(checks)
    every = [*given, *_others(kind, present, {one.key for one in given})]
    order = list(CATALOGUE)
    return tuple(
        replace(one, essential=any(tag in present for tag in CATALOGUE[one.key].essential))
        for one in sorted(every, key=lambda one: order.index(one.key))
    )


def _others(kind: SheetKind, present: Collection[str], found: Collection[str]) -> Iterator[Check]:
    for key, own in CATALOGUE.items():
        if key in found or kind not in own.sheets:
            continue
        rule = _first_rule(key)
        status, sentence = _status(own, present)
        yield Check(key, own.version, RULES[rule].section, status, sentence, "", RULES[rule].source, rule=rule)


def _status(own: Kind, present: Collection[str]) -> tuple[Status, str]:
    if any(tag not in present for tag in own.applies):
        return "not_applicable", f"{capitalised(own.title)}: {own.absent}."
    missing = [NEEDS[tag] for tag in own.needs if tag not in present]
    if missing and "hidden" in present:
        return "not_run", f"{capitalised(own.title)}: examined on the sheet for the board alone."
    if missing:
        return "not_run", f"{capitalised(own.title)}: not examined. It needs {missing[0]}."
    return "pass", own.passed
