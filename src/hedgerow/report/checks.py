"""Checks of a report: their catalogue, the rule and source of each check, and the status of checks without findings."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from hedgerow.report.appetite import Appetite
from hedgerow.text.language import N_, _, ngettext, number, percentage
from hedgerow.text.messages import capitalised
from hedgerow.text.values import quoted_text

SheetKind = Literal["public", "board"]  # the public sheet, or the board's sheet
Interval = tuple[float, float]
Status = Literal["fail", "not_run", "review", "pass", "not_applicable"]
"""The status of a check: ``not_run`` if a required input is missing, ``not_applicable`` if the model cannot fail it."""
STATUSES: tuple[Status, ...] = ("fail", "not_run", "review", "pass", "not_applicable")  # the most severe first
STATUS_NAMES: dict[Status, str] = {
    "fail": N_("failed"),
    "not_run": N_("not run"),
    "review": N_("needs review"),
    "pass": N_("passed"),
    "not_applicable": N_("not applicable"),
}


@dataclass(frozen=True)
class Check:
    """A check of a report, with its status and the rule that decided it.

    Attributes
    ----------
    key : str
        The check's stable id, the same in every language.
    version : int
        The version of its rule.
    section : str
        The key of the section that contains the numbers.
    status : {"fail", "not_run", "review", "pass", "not_applicable"}
        The result.
    sentence : str
        The finding, for people.
    threshold, source : str
        The rule in words, and its source.
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
        The name of the model on a sheet that compares several models.
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
        """The subject of the check, in a few words."""
        return _(CATALOGUE[self.key].title)

    @property
    def rank(self) -> int:
        """The rank of its status; the most severe status is first."""
        return STATUSES.index(self.status)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready data."""
        values = {"id": self.key, **vars(self), "interval": interval_dict(self.interval)}
        del values["key"]
        return values


def interval_dict(interval: Interval | None, confidence: float = 0.95) -> dict[str, float] | None:
    """Return an interval as JSON-ready data."""
    return None if interval is None else {"low": interval[0], "high": interval[1], "confidence": confidence}


class Kind(NamedTuple):
    """A kind of check: its subject, its conditions and its required inputs."""

    title: str  # the examined subject, in a few words
    passed: str  # the sentence if there is no finding
    applies: Sequence[str] = ()  # the required properties of the model; without them, the check is not applicable
    needs: Sequence[str] = ()  # the required inputs; without them, the check is not run
    essential: Sequence[str] = ()  # models for which a sheet without this check supports no release
    sheets: Sequence[SheetKind] = ("public", "board")
    version: int = 2
    absent: str = N_("{check}: not applicable to this model.")  # the sentence if `applies` is not met


_NO_GUARANTEE, _GUARANTEE = "no-guarantee", "guarantee"
_BOARD: Sequence[SheetKind] = ("board",)
_NO_BETTER = N_("The attack is not better than guessing.")
_NO_LOSS = N_("No measured privacy loss is above epsilon.")
_ESSENTIAL = (_NO_GUARANTEE,)
_STORED = ("contents",)


def _attack(title: str, passed: str, *applies: str) -> Kind:
    """Return a kind of check of an attached attack."""
    absent = N_("{check}: no such attack was given, or there is no guarantee to compare it with.")
    return Kind(title, passed, applies, sheets=_BOARD, absent=absent)


NEEDS: dict[str, str] = {
    "record": N_("the record of all releases of the table (--ledger)"),
    "evaluation": N_("an evaluation (--evaluation)"),
    "counts": N_("the number of rows of each leaf, from released counts or from the training rows (--data)"),
    "class-counts": N_(
        "the number of rows of each class in each leaf, from released counts or from the training rows (--data)"
    ),
    "bin-counts": N_("the number of rows of each bin, from counts in the file or from the training rows (--data)"),
    "possible-rows": N_("the training rows (--data) of a model whose possible rows can be counted"),
    "contents": N_("the data that the model stores"),
    "rows": N_("the training rows (--data)"),
    "labelled": N_("training rows or held-out rows (--data, --test)"),
    "both": N_("training rows and held-out rows (--data and --test), with rows of every class in both"),
    "second-unit-rows": N_("the training rows with the column of the household or institution (--data)"),
    "held-out": N_("held-out rows (--test)"),
    "groups": N_("the columns whose groups are compared (--by, or the sensitive attributes of the form)"),
    "attack": N_(
        "a membership attack (--attack) or, for a model with leaves, enough training rows and held-out rows to show "
        "or exclude membership inference"
    ),
}
"""What checks need, and how it is given; a check that lacks it is not run and states it."""

CATALOGUE: dict[str, Kind] = {
    "guarantee": Kind(N_("privacy guarantee"), N_("The privacy card states a guarantee."), essential=(_GUARANTEE,)),
    "rows-per-person": Kind(
        N_("number of rows per person"),
        N_("The guarantee covers all rows of a person."),
        (_GUARANTEE,),
        essential=(_GUARANTEE,),
    ),
    "thresholds": Kind(
        N_("numeric thresholds of the model"),
        N_("The thresholds are public, or their privacy cost was charged."),
        ("own-thresholds",),
    ),
    "declared-values": Kind(
        N_("bounds and cut points compared with the given rows"),
        N_("The bounds and cut points of the schema do not come from the given rows, as far as this can be seen."),
        ("declared-numbers",),
        ("rows",),
        sheets=_BOARD,
    ),
    "delta": Kind(N_("size of delta"), N_("Delta is 0, so the guarantee has no exception."), (_GUARANTEE,)),
    "noise": Kind(N_("source of the noise"), N_("The privacy card names the source of the noise."), (_GUARANTEE,)),
    "declared": Kind(
        N_("charges on the privacy card"), N_("The software recorded every charge itself."), (_GUARANTEE,)
    ),
    "releases": Kind(
        N_("all releases of the table"),
        N_("The record lists all releases."),
        (_GUARANTEE,),
        ("record",),
        (_GUARANTEE,),
    ),
    "record": Kind(
        N_("this model in the record of releases"),
        N_("The record contains this model's charges."),
        (_GUARANTEE,),
        ("record",),
    ),
    "form": Kind(
        N_("entries of the form"),
        N_("The form states what the model is for, who is responsible for the table, and how the model was chosen."),
    ),
    "small-leaves": Kind(
        N_("number of rows in each leaf"), N_("No leaf has few rows."), ("leaves",), ("counts",), _ESSENTIAL
    ),
    "units": Kind(
        N_("number of persons or other units in each leaf"),
        N_("Every leaf has rows of enough units."),
        ("leaves", "unit"),
        ("counts",),
    ),
    "second-units": Kind(
        N_("households or institutions in each leaf"),
        N_("Every leaf has persons of enough households or institutions."),
        ("leaves", "second-unit"),
        ("second-unit-rows",),
        (_NO_GUARANTEE,),
        _BOARD,
    ),
    "identifiers": Kind(
        N_("columns that identify persons"),
        N_("No undeclared column of the rows looks like an identifier of persons with several rows."),
        ("undeclared-columns",),
        ("rows",),
        sheets=_BOARD,
        absent=N_("{check}: nothing to examine, because the schema declares every column of the rows."),
    ),
    "small-bins": Kind(
        N_("number of rows in each bin"),
        N_("No bin whose row count is in the file has few rows."),
        ("bins",),
        ("bin-counts",),
        _ESSENTIAL,
        version=3,
    ),
    "pure-bins": Kind(
        N_("class disclosure in bins"),
        N_("Every bin has rows of more than one class."),
        ("points",),
        ("rows",),
        _ESSENTIAL,
        _BOARD,
    ),
    "counts": Kind(
        N_("stored counts compared with the given rows"),
        N_("The given rows have the counts that the model stores."),
        (),
        ("rows",),
        sheets=_BOARD,
    ),
    "dominance": Kind(
        N_("dominance of one row in a leaf"),
        N_("No leaf's sum lets others estimate one row closely."),
        ("leaves", "number", _NO_GUARANTEE),
        ("rows",),
        sheets=_BOARD,
    ),
    "pure-leaves": Kind(
        N_("class disclosure"),
        N_("Every leaf has rows of more than one class."),
        ("leaves",),
        ("class-counts",),
        _ESSENTIAL,
    ),
    "few-of-class": Kind(
        N_("number of rows of each class in a leaf"),
        N_("No leaf has few rows of a class."),
        ("leaves", "classes"),
        ("class-counts",),
    ),
    "joint-cells": Kind(
        N_("rows singled out by all trees together"),
        N_("No row is alone in its combination of leaves."),
        ("ensemble",),
        ("rows", "counts"),
        sheets=_BOARD,
    ),
    "editions": Kind(
        N_("differences between the counts of several models"),
        N_("No difference of counts has few rows, or rows of only one class."),
        sheets=(),  # only a sheet that compares several models has it
    ),
    "known-rows": Kind(
        N_("leaves with only one possible row"),
        N_("No row is the only possible row of its leaf."),
        ("leaves", "schema"),
        ("possible-rows",),
    ),
    "accuracy": Kind(
        N_("accuracy compared with a constant prediction"),
        N_("The model is better than a constant prediction."),
        ("comparable",),
        ("labelled",),
        sheets=_BOARD,
    ),
    "caveat": Kind(
        N_("usefulness of the model"), N_("The released numbers show no problem with the model."), (_GUARANTEE,)
    ),
    "groups": Kind(
        N_("groups compared with a constant prediction"),
        N_("The model is not shown to be worse than a constant prediction for any group."),
        ("comparable",),
        ("labelled", "groups"),
        sheets=_BOARD,
    ),
    "separation": Kind(
        N_("membership inference from leaves"),
        N_("Training rows and held-out rows fall into the same leaves."),
        ("leaves",),
        ("both",),
        sheets=_BOARD,
    ),
    "membership": Kind(
        N_("membership inference"),
        N_("Membership inference was examined, by attacks or from the leaves; other checks have the result."),
        (),
        ("attack",),
        _ESSENTIAL,
        _BOARD,
    ),
    "attack-membership": _attack(N_("membership inference over random splits"), _NO_BETTER, "membership-attack"),
    "attack-lira": _attack(N_("membership inference by refits"), _NO_BETTER, "lira-attack"),
    "attack-lira-rows": _attack(
        N_("rows that refits distinguish"), N_("Refits do not distinguish any row."), "lira-attack"
    ),
    "attack-exact-membership": _attack(N_("optimal membership inference"), _NO_LOSS, "exact-membership-attack"),
    "attack-exact-inference": _attack(
        N_("optimal inference among candidates"),
        N_("The probability of a correct guess is not above what epsilon permits."),
        "exact-inference-attack",
    ),
    "attack-one-run": _attack(N_("privacy loss measured in one run"), _NO_LOSS, "one-run-attack"),
    "attack-empirical": _attack(N_("privacy loss measured in many runs"), _NO_LOSS, "empirical-attack"),
    "attack-refutation": _attack(
        N_("attacks compared with the claimed guarantee"),
        N_("No attack achieved more than epsilon permits."),
        "attached",
        _GUARANTEE,
    ),
    "file-rows": Kind(N_("rows of data in the model"), N_("The model contains no rows of data."), (), _STORED),
    "file-extremes": Kind(
        N_("minimum and maximum values stored in addition to the schema"),
        N_("The model contains no minimum or maximum values in addition to the schema."),
        (),
        _STORED,
    ),
    "file-statistics": Kind(
        N_("statistics of rows in the model"), N_("The model contains no statistics of rows."), (), _STORED
    ),
    "file-bounds": Kind(
        N_("bounds in the model"), N_("The model contains no bounds except those of the schema."), (), _STORED
    ),
    "file-values": Kind(
        N_("names and values in the model"),
        N_("The model contains no names and values except those of the schema."),
        (),
        _STORED,
    ),
    "file-counts": Kind(
        N_("counts in the model"), N_("Every number of rows in the model is the count of a leaf."), (), _STORED
    ),
    "file-text": Kind(N_("free text in the model"), N_("The model contains no free text."), (), _STORED),
    "file-unread": Kind(
        N_("parts of the model that were not read"), N_("Every part of the model was read."), (), _STORED
    ),
}
"""All kinds of checks by their stable id."""
MEMBERSHIP_CHECKS = ("separation", "attack-membership", "attack-lira", "attack-lira-rows", "attack-exact-membership")
"""The checks of membership inference; a model without a guarantee requires at least one such check."""
BOARD_ONLY = frozenset(key for key, kind in CATALOGUE.items() if kind.sheets == _BOARD)
"""The checks that only the sheet for the board has."""

_TIERS = "Ponomareva et al., How to DP-fy ML, JAIR 77 (2023)"
_CRYPTIC_DELTA = N_(
    "Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section 2.3: a delta of 1/n allows "
    "a whole row to be published"
)
_RULE_OF_TEN = N_("safe_threshold of ACRO, 10; the rule of 10 of the Australian Bureau of Statistics' DataLab")
_ENTITIES = N_(
    "10 units and a dominance of 50 %: ESSnet SDC, Guidelines for the checking of output based on microdata research "
    "(2010); the Bundesbank's sdcLog counts distinct entities in the same way"
)
_GROUP_PRIVACY = N_("group privacy: Vadhan, The Complexity of Differential Privacy (2017), Lemma 2.2")
_P_RATIO = N_("the p % rule: safe_pratio_p of ACRO, 0.1; Hundepool et al., Statistical Disclosure Control (2012)")
_CLASSES = N_("class disclosure: Hundepool et al., Statistical Disclosure Control (2012); SACRO-ML's structural attack")
_DIFFERENCING = N_("differencing: Hundepool et al., Statistical Disclosure Control (2012); ACRO")
_HOLM = N_("Holm (1979): sign tests of all rows; a false alarm rate of 1 % for all attacks together")
_STEINKE = "Steinke, Nasr and Jagielski, Privacy Auditing with One (1) Training Run (NeurIPS 2023)"
_JAGIELSKI = "Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning (NeurIPS 2020)"
_DEFINITION = N_("the definition of differential privacy")
_HOUSE = N_("chosen for this report; no published threshold exists")
_PAIRED = N_(
    "McNemar (1947) with Edwards' correction (1948) for correct and incorrect predictions, Student's t for costs and "
    "errors; by units if a unit has several rows; on held-out rows"
)
_PERMUTED = N_(
    "permutation of units; normal bound on the share of correct guesses; the limit is chosen for this report "
    "(epsilon = 0.2 permits 55 %)"
)
_AUC_RULE = N_(
    "an AUC above {most} is excluded with 95 % confidence; otherwise, an AUC significantly above 0.5 needs review "
    "(false alarm rate of 1 % for all attacks together)"
)
_LOSS_RULE = N_("no lower bound above epsilon; without a guarantee, no lower bound above {strong}")
_AUC = N_("Hanley and McNeil (1982), or Student's t over splits; the limit of 0.55 is chosen for this report")
_NOISE = N_("the noise on the released counts, as stated by the privacy card")
_GROUPS = N_("Holm (1979) over the paired tests of all groups; the limit of a deficit is chosen for this report")
_TIER = N_("epsilon of at most {strong} passes; at most {largest}: needs review; above: fails")

_DATA = N_("a model is released as a file; ACRO: minimum and maximum values are values of single rows")

_ALL_LEAVES = N_("at least {least} in every leaf")
_NOISY_LEAVES = N_(
    "at least {least} in every leaf, beyond the noise (95 % for all leaves together), or epsilon of at most {strong}"
)
_OWN = N_("the project's risk appetite; ACRO's threshold is 10")


class Rule(NamedTuple):
    """The section that has the numbers of a check, the rule of its status, and the source of the rule."""

    section: str
    threshold: str
    source: str


_NO_BETTER_RULE = N_("better than always predicting one class: 95 % interval, given the noise, above 0")
_REACHABLE = N_("leaves that no row can reach are named; this needs no review")
_EMPTY = N_("leaves that may contain no rows, given the noise (95 % each), are named; this needs no review")

RULES: dict[str, Rule] = {
    "guarantee": Rule("guarantee", N_("a guarantee of differential privacy"), _DEFINITION),
    "guarantee/reason": Rule("guarantee", N_("no reason on the privacy card voids the guarantee"), _DEFINITION),
    "guarantee/tier": Rule("guarantee", _TIER, _TIERS),
    "rows-per-person": Rule(
        "guarantee", N_("the guarantee covers persons, or the number of rows per person is stated"), _GROUP_PRIVACY
    ),
    "thresholds": Rule("unprotected", N_("thresholds are public, or their privacy cost was charged"), _HOUSE),
    "declared-values": Rule(
        "model",
        N_("no bounds at the extremes of the rows, and no cut points at their quantiles, beyond what chance explains"),
        _HOUSE,
    ),
    "delta": Rule("guarantee", N_("delta = 0 passes; 1/n or more fails"), _CRYPTIC_DELTA),
    "noise": Rule("noise", N_("noise was drawn"), _DEFINITION),
    "declared": Rule("charges", N_("the software recorded every charge itself"), _HOUSE),
    "releases": Rule("releases", N_("a record of all releases"), _HOUSE),
    "releases/tier": Rule("releases", _TIER, _TIERS),
    "record": Rule("releases", N_("the record contains the epsilon of the privacy card"), _HOUSE),
    "record/file": Rule("releases", N_("the record names this file"), _HOUSE),
    "record/evaluation": Rule("releases", N_("the record contains the charge of the evaluation"), _HOUSE),
    "form": Rule("statements", N_("the form is filled in"), _HOUSE),
    "small-leaves": Rule("leaves", _ALL_LEAVES, _RULE_OF_TEN),
    "small-leaves/noisy": Rule("leaves", _NOISY_LEAVES, _RULE_OF_TEN),
    "units": Rule(
        "leaves", N_("units are counted, or every leaf has enough rows for the required number of units"), _HOUSE
    ),
    "second-units": Rule(
        "leaves",
        N_("at least {fewest} units in every leaf, and none with more than {share} % of the persons"),
        _ENTITIES,
    ),
    "identifiers": Rule("leaves", N_("the form or the schema names the column that identifies persons"), _HOUSE),
    "small-bins": Rule("leaves", N_("at least {least} in every bin whose row count is in the file"), _RULE_OF_TEN),
    "small-bins/counted": Rule("leaves", N_("at least {least} in every bin that has rows"), _RULE_OF_TEN),
    "pure-bins": Rule("leaves", N_("no bin with rows of only one class"), _CLASSES),
    "pure-bins/number": Rule("leaves", N_("no bin with rows of only one level"), _CLASSES),
    "small-leaves/own": Rule("leaves", _ALL_LEAVES, _OWN),
    "small-leaves/own-noisy": Rule("leaves", _NOISY_LEAVES, _OWN),
    "counts": Rule(
        "leaves",
        N_("exact counts are equal; noisy counts differ by no more than noise does in all but one of 10^6 cases"),
        _NOISE,
    ),
    "dominance": Rule("leaves", N_("no row that others can estimate to within {percent} % from its leaf"), _P_RATIO),
    "pure-leaves": Rule("leaves", N_("no leaf with rows of only one class"), _CLASSES),
    "pure-leaves/noisy": Rule(
        "leaves", N_("no leaf with rows of only one class, or epsilon of at most {strong}"), _CLASSES
    ),
    "few-of-class": Rule("leaves", N_("at least {least} of every class that a leaf has"), _CLASSES),
    "few-of-class/noisy": Rule(
        "leaves", N_("at least {least} of every class that a leaf has, or epsilon of at most {strong}"), _CLASSES
    ),
    "pure-leaves/number": Rule("leaves", N_("no leaf with rows of only one level"), _CLASSES),
    "joint-cells": Rule("leaves", N_("no row is alone in its combination of leaves of all trees"), _HOUSE),
    "editions": Rule(
        "editions",
        N_("every difference of equal counts is 0, or has at least {least} and several classes"),
        _DIFFERENCING,
    ),
    "known-rows": Rule("reconstruction", N_("no leaf with only one possible row"), _HOUSE),
    "accuracy": Rule("accuracy", N_("more accurate than the most common class: 95 % interval above 0"), _PAIRED),
    "accuracy/cost": Rule(
        "accuracy", N_("lower cost than always predicting one class: 95 % interval above 0"), _PAIRED
    ),
    "accuracy/number": Rule("accuracy", N_("lower error than a constant prediction: 95 % interval above 0"), _PAIRED),
    "caveat/constant": Rule("model", N_("the prediction is not the same for all rows"), _HOUSE),
    "caveat/no-better": Rule("model", _NO_BETTER_RULE, _NOISE),
    "caveat/unclear": Rule("model", _NO_BETTER_RULE, _NOISE),
    "caveat/unreachable": Rule("model", _REACHABLE, _HOUSE),
    "caveat/unexamined": Rule("model", _REACHABLE, _HOUSE),
    "caveat/partial": Rule("model", N_("counts of all leaves, or of none"), _HOUSE),
    "caveat/empty": Rule("model", _EMPTY, _NOISE),
    "groups": Rule(
        "accuracy",
        N_(
            "no group is worse off than with a constant prediction (p > 0.01 for all groups together), and a deficit "
            "of more than {most} is excluded (95 %)"
        ),
        _GROUPS,
    ),
    "separation": Rule(
        "membership",
        N_("at most {most} % correct guesses with 95 % confidence; otherwise p > 0.005"),
        _PERMUTED,
    ),
    "membership": Rule("membership", N_("the success of an attack was measured"), _HOUSE),
    "attack-membership": Rule("attacks", _AUC_RULE, _AUC),
    "attack-lira": Rule("attacks", _AUC_RULE, _AUC),
    "attack-lira-rows": Rule("attacks", N_("no row with a significant difference"), _HOLM),
    "attack-exact-membership": Rule("attacks", N_("a privacy loss of at most epsilon"), _DEFINITION),
    "attack-exact-inference": Rule(
        "attacks", N_("at most what epsilon permits, compared with the best guess without the model"), _DEFINITION
    ),
    "attack-one-run": Rule("attacks", _LOSS_RULE, _STEINKE),
    "attack-empirical": Rule("attacks", _LOSS_RULE, _JAGIELSKI),
    "attack-refutation": Rule("attacks", N_("no attack achieves more than epsilon permits"), _DEFINITION),
    "file-rows": Rule("model", N_("no row of data in the file"), _DATA),
    "file-extremes": Rule("model", N_("no minimum or maximum value of rows in the file"), _DATA),
    "file-statistics": Rule("model", N_("no statistics of rows in the file"), _HOUSE),
    "file-bounds": Rule("model", N_("no bounds except those of the schema"), _HOUSE),
    "file-values": Rule("model", N_("no names and values except those of the schema"), _HOUSE),
    "file-counts": Rule("model", N_("every number of rows is the count of a leaf"), _HOUSE),
    "file-text": Rule("model", N_("no free text in the file"), _HOUSE),
    "file-unread": Rule("model", N_("every part of the model was read"), _HOUSE),
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
    """Return a check by a rule; `numbers` are inserted into the rule's text."""
    section, threshold, source = RULES[rule]
    key = rule.partition("/")[0]
    text, version = _(threshold, **numbers), CATALOGUE[key].version
    return Check(key, version, section, status, sentence, text, _(source), value, interval, limit, rule=rule)


def rule_text(key: str, appetite: Appetite) -> str:
    """Return the rule of a check without findings, with the thresholds of a risk appetite."""
    most = {
        "groups": percentage(f"{100 * appetite.largest_deficit:g}"),
        "separation": short(100 * appetite.most_guessed),
    }
    numbers = {
        "least": rows_text(appetite.fewest_rows),
        "fewest": appetite.fewest_rows,
        "share": short(100 * appetite.largest_unit),
        "strong": short(appetite.strong_epsilon),
        "largest": short(appetite.largest_epsilon),
        "percent": short(100 * appetite.dominance),
        "most": most.get(key, short(appetite.most_guessed)),
    }
    return _(RULES[_first_rule(key)].threshold, **numbers)


def short(value: float) -> str:
    """Return a number in a rule as text with at most six digits."""
    return number(f"{value:g}")


def rows_text(rows: int, column: str | None = None) -> str:
    """Return a number of rows, or of the units that a column identifies."""
    if column is None:
        return ngettext("{count} row", "{count} rows", rows)
    return ngettext("{count} unit ({column})", "{count} units ({column})", rows, column=quoted_text(column))


def _first_rule(key: str) -> str:
    return next(name for name in RULES if name.partition("/")[0] == key)


def completed(checks: Iterable[Check], kind: SheetKind, present: Collection[str]) -> tuple[Check, ...]:
    """Return all checks of a sheet: the given checks, and the other checks of the catalogue with their derived status.

    `present` has tags for properties of the model and for inputs. A check without findings passes if all tags that it
    requires are present.
    """
    given = tuple(checks)
    every = [*given, *_without_findings(kind, present, {check.key for check in given})]
    order = list(CATALOGUE)
    return tuple(
        replace(check, essential=any(tag in present for tag in CATALOGUE[check.key].essential))
        for check in sorted(every, key=lambda check: order.index(check.key))
    )


def _without_findings(kind: SheetKind, present: Collection[str], given: Collection[str]) -> Iterator[Check]:
    for key, own in CATALOGUE.items():
        if key in given or kind not in own.sheets:
            continue
        rule = _first_rule(key)
        status, sentence = _status(own, present)
        yield Check(key, own.version, RULES[rule].section, status, sentence, "", _(RULES[rule].source), rule=rule)


def _status(own: Kind, present: Collection[str]) -> tuple[Status, str]:
    title = capitalised(_(own.title))
    if any(tag not in present for tag in own.applies):
        return "not_applicable", _(own.absent, check=title)
    missing = [NEEDS[tag] for tag in own.needs if tag not in present]
    if missing and "hidden" in present:
        return "not_run", _("{check}: examined on the board's sheet only.", check=title)
    if missing:
        return "not_run", _("{check}: not run. Required: {input}.", check=title, input=_(missing[0]))
    return "pass", _(own.passed)
