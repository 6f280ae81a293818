"""Text of facts and units of privacy: releases, mechanisms, neighbouring tables and guarantees.

Each code of `hedgerow.privacy.facts` has an entry in `WORDS`: a message, or a function of the fact. All text is in the
current language. No program reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from hedgerow.privacy.amounts import amount_text
from hedgerow.text.language import _, enumerated, gettext_noop, ngettext, number, pgettext, significant
from hedgerow.text.values import quoted_text, value_text


class FactLike(Protocol):
    """A `hedgerow.privacy.facts.Fact`."""

    @property
    def code(self) -> str: ...

    @property
    def details(self) -> tuple[tuple[str, Any], ...]: ...

    @property
    def words(self) -> str: ...

    def get(self, name: str, default: Any = None) -> Any: ...

    def __getitem__(self, name: str) -> Any: ...


class UnitLike(Protocol):
    """A `hedgerow.privacy.unit.Unit`."""

    @property
    def column(self) -> str: ...

    @property
    def max_rows(self) -> int: ...


def of_fact(fact: FactLike) -> str:
    """Return the text of a fact."""
    words = WORDS[fact.code]
    text = words(fact) if callable(words) else _(words, **dict(fact.details))
    return _("{mechanism}; nodes hold different rows", mechanism=text) if fact.get("disjoint") else text


def of_reasons(reasons: Iterable[FactLike]) -> str | None:
    """Return the reasons why there is no guarantee, or None if there is a guarantee."""
    return enumerated(reason.words for reason in reasons) or None


def of_unit(unit: UnitLike | None) -> str:
    """Return the text of a unit of privacy."""
    if unit is None:
        return _(ONE_ROW)
    return _("one {unit} ({rows_used})", unit=noun(unit), rows_used=used(unit))


ONE_ROW = gettext_noop("one row that fits the schema")


def noun(unit: UnitLike | None, show: Callable[[str], str] = quoted_text) -> str:
    """Return the noun for a unit: row, or its column, which `show` makes safe for the text around it."""
    return _("row") if unit is None else show(unit.column)


def all_rows(unit: UnitLike | None, show: Callable[[str], str] = quoted_text) -> str:
    """Return the phrase for all rows of a unit."""
    return _("one row") if unit is None else _("all rows of one {unit}", unit=show(unit.column))


def protected(unit: UnitLike | None) -> str:
    """Return the subject and verb of a sentence on protected rows, without "protected"."""
    return _("Every row is") if unit is None else _("All rows of each {unit} together are", unit=noun(unit))


def suspected(unit: UnitLike | None) -> str:
    """Return the phrase for rows that an attacker suspects in the table, with the verb."""
    return _("a row is") if unit is None else _("the rows of one {unit} are", unit=noun(unit))


def used(unit: UnitLike) -> str:
    """Return the limit on the rows of a unit that are used."""
    if unit.max_rows == 1:
        return _("one of its rows, drawn at random, is used")
    return _("at most {rows} of its rows, drawn at random, are used", rows=unit.max_rows)


def neighbours(unit: UnitLike | None) -> str:
    """Return the neighbouring relation."""
    if unit is None:
        return _("tables that differ by adding or removing one row that fits the schema")
    return _(
        "tables that differ by adding or removing all rows of one {unit}; {rows_used}",
        unit=noun(unit),
        rows_used=used(unit),
    )


def headline(epsilon: Fraction | None, delta: Fraction | None, reasons: Iterable[FactLike]) -> str:
    """Return a guarantee in a few words; ``none`` with the reasons if there is none."""
    why = of_reasons(reasons)
    if epsilon is None or why is not None:
        return _("none ({reasons})", reasons=why)
    if delta:
        return _(
            "(epsilon, delta)-differential privacy with ({epsilon}, {delta})",
            epsilon=_amount(epsilon),
            delta=_amount(delta),
        )
    return _("epsilon-differential privacy with epsilon = {epsilon}", epsilon=_amount(epsilon))


def guarantee(epsilon: Fraction, delta: Fraction | None, unit: UnitLike | None) -> str:
    """Return a guarantee as one sentence."""
    values = {
        "guarantee": headline(epsilon, delta, ()),
        "changed": _(ONE_ROW) if unit is None else _("one {unit}", unit=noun(unit)),
        "epsilon": _amount(epsilon),
    }
    text = (
        _(
            "{guarantee}: adding or removing any {changed} changes the probability of any set of outputs by a "
            "factor of at most e^{epsilon}, plus {delta}",
            delta=_amount(delta),
            **values,
        )
        if delta
        else _(
            "{guarantee}: adding or removing any {changed} changes the probability of any set of outputs by a "
            "factor of at most e^{epsilon}",
            **values,
        )
    )
    return text if unit is None else f"{text}; {used(unit)}"


def spent(epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> str:
    """Return the amounts of all charges together."""
    values = {"epsilon": _amount(epsilon), "delta": _amount(delta)}
    if rho is None:
        return _("epsilon = {epsilon}, delta = {delta}", **values)
    return _("epsilon = {epsilon}, delta = {delta}, rho = {rho}", rho=_amount(rho), **values)


def reserve(query: FactLike, epsilon: Fraction, rho: Fraction | None) -> str:
    """Return the text of a reserve."""
    if epsilon:
        return _(
            "{releases}: up to epsilon = {amount} more; a bound on all answers together must include this amount",
            releases=query.words,
            amount=_amount(epsilon),
        )
    return _(
        "{releases} could have cost up to rho = {amount} more; bounds in rho (zCDP) must include this amount",
        releases=query.words,
        amount=_amount(rho or 0),
    )


def _amount(amount: Fraction | float, *, digits: int = 6) -> str:
    return number(amount_text(amount, digits=digits))


def _digits(value: Any, digits: int = 4) -> str:
    return significant(float(value), digits)


def _leaves(fact: FactLike) -> str:
    count = fact.get("number", 0)
    match fact["of"]:
        case "leaves":
            return _("the leaves")
        case "rules":
            return ngettext("{count} rule", "{count} rules", count)
        case "rule":
            return _("rule {number}", number=count)
        case _default:
            return _("the default rule")


_VALUES = {
    "labels": gettext_noop("labels"),
    "probabilities": gettext_noop("probabilities"),
    "predictions": gettext_noop("predictions"),
}


def _rules_draw(fact: FactLike) -> str:
    message = {
        (False, False): gettext_noop("draw of up to {rules} rules with their {values}"),
        (False, True): gettext_noop("draw of up to {rules} rules with their number and their {values}"),
        (True, False): gettext_noop("draw of up to {rules} more rules with their {values}"),
        (True, True): gettext_noop("draw of up to {rules} more rules with their number and their {values}"),
    }[bool(fact.get("further")), bool(fact.get("draws_size"))]
    return _(message, rules=fact["most"], values=_(_VALUES[fact["values"]]))


def _tree_draw(fact: FactLike) -> str:
    message = {
        (False, False): gettext_noop("draw of a tree of depth up to {depth} with its {values}"),
        (False, True): gettext_noop("draw of a tree of depth up to {depth} with its depth and its {values}"),
        (True, False): gettext_noop("draw of a tree of depth up to {depth} with its {values}, or of the scorecard"),
        (True, True): gettext_noop(
            "draw of a tree of depth up to {depth} with its depth and its {values}, or of the scorecard"
        ),
    }[bool(fact.get("or_scorecard")), bool(fact.get("draws_size"))]
    return _(message, depth=fact["depth"], values=_(_VALUES[fact["values"]]))


def _in_series(fact: FactLike, text: str) -> str:
    """Return the text of a query whose series of releases is charged with the first."""
    return _("{releases} (all of them charged with the first)", releases=text) if fact.get("series") else text


def _histograms(fact: FactLike) -> str:
    if fact["of"] == "classes":
        text = ngettext(
            "rows by bin and class of {count} attribute",
            "rows by bin and class of {count} attributes",
            fact["attributes"],
        )
    else:
        text = ngettext(
            "rows and sums of the predicted number by bin of {count} attribute",
            "rows and sums of the predicted number by bin of {count} attributes",
            fact["attributes"],
        )
    return _in_series(fact, text)


_COUNTED = {
    "rows": gettext_noop("rows"),
    "classes": gettext_noop("classes"),
    "levels": gettext_noop("levels"),
    "errors": gettext_noop("errors"),
}


def _answer(fact: FactLike, counted: str) -> str:
    return ngettext(
        "{counted} by bin of {count} attribute",
        "{counted} by bin of {count} attributes",
        fact["attributes"],
        counted=counted,
    )


def _by_bin(fact: FactLike) -> str:
    return _answer(fact, _("marginals") if fact["by"] == "rows" else _(_COUNTED[fact["by"]]))


def _evaluation(fact: FactLike) -> str:
    message = {
        "classes": gettext_noop("evaluation of the {model} {digest}: rows by true class and score band"),
        "numbers": gettext_noop("evaluation of the {model} {digest}: rows by band of the true number"),
        "errors": gettext_noop("evaluation of the {model} {digest}: rows by the error of the prediction"),
    }[fact["of"]]
    return _(message, model=fact["model"], digest=fact["digest"])


def _curators(fact: FactLike) -> str:
    message = {
        ("answers", "sum"): gettext_noop("all answers of all curators"),
        ("answers", "largest"): gettext_noop("all answers of the curator with the largest charge"),
        ("questions", "sum"): gettext_noop("unasked questions to all curators"),
        ("questions", "largest"): gettext_noop("unasked questions to the curator with the largest charge"),
    }[fact["of"], fact["together"]]
    return _(message)


def _permute_and_flip(fact: FactLike) -> str:
    message = {
        True: gettext_noop("permute-and-flip, monotone, noise of scale {scale} sensitivities"),
        False: gettext_noop("permute-and-flip, two-sided, noise of scale {scale} sensitivities"),
    }[fact["directions"] == 1]
    return _(message, scale=_digits(fact["scale"]))


def _gumbel_choice(fact: FactLike) -> str:
    message = {
        True: gettext_noop("exponential mechanism, monotone, noise of scale {scale} sensitivities"),
        False: gettext_noop("exponential mechanism, two-sided, noise of scale {scale} sensitivities"),
    }[fact["directions"] == 1]
    return _(message, scale=_digits(fact["scale"]))


def _gaussian(fact: FactLike) -> str:
    values = {"answers": fact["answers"], "sigma": _digits(fact["scale"])}
    if fact["parts"] == 1:
        text = _("discrete Gaussian, answer {number} of {answers}, sigma {sigma}", number=fact["number"], **values)
    else:
        text = _("discrete Gaussian, {parts} parts of {answers}, sigma {sigma}", parts=_digits(fact["parts"]), **values)
    return _with_total(fact, text)


def _with_total(fact: FactLike, text: str) -> str:
    mu = fact.get("mu")
    return text if mu is None else _("{mechanism}, all together {mu}-GDP", mechanism=text, mu=_amount(mu, digits=4))


def _shared_histograms(fact: FactLike) -> str:
    parts = [
        _("histograms of {attributes} attributes with {bins} bins", attributes=fact["attributes"], bins=fact["bins"])
    ]
    groups, alone = fact.get("groups"), fact.get("alone")
    if groups is not None:
        parts.append(_("in {groups} groups", groups=groups))
    if alone is not None:
        parts.append(
            ngettext(
                "{count} attribute with discrete Laplace noise of its own",
                "{count} attributes with discrete Laplace noise of their own",
                alone,
            )
        )
    return _(
        "K-norm noise shared by {histograms}; sensitivity {sensitivity}, scale {scale}; its rho is the largest that "
        "this epsilon allows",
        histograms=", ".join(parts),
        sensitivity=fact["sensitivity"],
        scale=_digits(fact["scale"]),
    )


def _peeling(fact: FactLike) -> str:
    text = ngettext(
        "exponential mechanism, {count} draw, {parts} parts of {answers}, Gumbel noise of scale {scale}",
        "exponential mechanism, {count} draws, {parts} parts of {answers}, Gumbel noise of scale {scale}",
        fact["draws"],
        parts=_digits(fact["parts"]),
        answers=fact["answers"],
        scale=_digits(fact["scale"]),
    )
    return _with_total(fact, text)


def _model_draw(fact: FactLike) -> str:
    handicap = fact.get("handicap")
    values = {
        "weight": _digits(fact["weight"], 8),
        "loss": fact["loss"].words,
        "rounding": _digits(fact["kept"], 2),
    }
    if handicap is None:
        return _(
            "exponential mechanism over all models, weight exp(-{weight} × loss), loss: {loss}, sensitivity 1; epsilon "
            "reserved for rounding: {rounding}",
            **values,
        )
    return _(
        "exponential mechanism over all models and a released model of prior weight exp(-{handicap}), weight "
        "exp(-{weight} × loss), loss: {loss}, sensitivity 1; epsilon reserved for rounding: {rounding}",
        handicap=handicap,
        **values,
    )


def _joint_quantiles(fact: FactLike) -> str:
    return _(
        "quantiles for {bins} bins, jointly by the exponential mechanism over {candidates} public candidates, weight "
        "exp(-{weight} × score), sensitivity {sensitivity}; epsilon reserved for rounding: {rounding}",
        bins=fact["bins"],
        candidates=fact["candidates"],
        weight=_digits(fact["weight"], 6),
        sensitivity=fact["sensitivity"],
        rounding=_digits(fact["kept"], 2),
    )


def _noisy_min(fact: FactLike) -> str:
    beta = fact.get("beta")
    if beta is None:
        message = {
            "laplace": gettext_noop("smallest score after Laplace noise of scale {scale}, sensitivity {sensitivity}"),
            "cauchy": gettext_noop("smallest score after Cauchy noise of scale {scale}, sensitivity {sensitivity}"),
            "gaussian": gettext_noop(
                "smallest score after Gaussian noise of standard deviation {scale}, sensitivity {sensitivity}"
            ),
        }[fact["noise"]]
        return _(message, scale=_digits(fact["scale"]), sensitivity=_digits(fact["sensitivity"], 6))
    message = {
        "laplace": gettext_noop(
            "smallest score after Laplace noise of scale {scale} smooth sensitivities, beta {beta}"
        ),
        "cauchy": gettext_noop("smallest score after Cauchy noise of scale {scale} smooth sensitivities, beta {beta}"),
        "gaussian": gettext_noop(
            "smallest score after Gaussian noise of standard deviation {scale} smooth sensitivities, beta {beta}"
        ),
    }[fact["noise"]]
    return _(message, scale=_digits(fact["scale"]), beta=_digits(beta))


def _published(fact: FactLike) -> str:
    epsilon, delta = _digits(fact["epsilon"], 6), fact.get("delta")
    if delta is None:
        return _("published as {epsilon}-differential privacy", epsilon=epsilon)
    return _("published as ({epsilon}, {delta})-differential privacy", epsilon=epsilon, delta=_digits(delta))


_SMOOTH = gettext_noop(
    "the scale of the noise depends on the rows, and noisy max has no proof for such noise; before each rule, fewer "
    "rows than min_remaining may remain with probability 1 - confidence, and the noise is then too small; the "
    "sensitivity covers added rows only; the number of rows is taken as public"
)
_GAPS = {
    "smooth-laplace": _SMOOTH,
    "smooth-cauchy": _SMOOTH,
    "global-laplace": gettext_noop(
        "one row can raise the Gini impurity of some rules and lower the impurity of others; noisy max then needs "
        "noise twice as large"
    ),
    "global-gaussian": gettext_noop(
        "the loss of one noisy score is claimed for the choice among all scores, by a formula for epsilon below 1"
    ),
}


def unproven(mechanism: str) -> str:
    """Return the reason why the published guarantee of an SSRL mechanism is not proven."""
    text = _(_GAPS[mechanism])
    if mechanism != "smooth-cauchy":
        return text
    rounding = _("Cauchy noise is not hardened against attacks on floating-point numbers")
    return f"{text}; {rounding}"


def _read_from(fact: FactLike) -> str:
    if fact.get("ours"):
        return _(
            "read from {format}, which states no guarantee; the file that hedgerow saved may state a guarantee",
            format=fact["format"],
        )
    return _("read from {format}, which states no guarantee", format=fact["format"])


def _rows_used(fact: FactLike) -> str:
    if fact["rows"] == 1:
        return _("at most 1 row of each unit, drawn at random, is used")
    return _(
        "at most {rows} rows of each unit, drawn at random, are used; a mechanism without delta runs at epsilon/{rows}",
        rows=fact["rows"],
    )


def _unit_is_person(fact: FactLike) -> str:
    return _(
        "each {column} counts as one person: a person with two of them is protected as two units",
        column=quoted_text(fact["column"]),
    )


def _weighted(fact: FactLike) -> str:
    return _(
        "rows are weighted by {column}, at most {largest}: a row of weight w counts as w/{largest} of a row, in "
        "{levels} steps; mechanisms run at epsilon/{levels} for each step",
        column=quoted_text(fact["column"]),
        largest=number(value_text(fact["largest"])),
        levels=fact["levels"],
    )


def _default_grid(fact: FactLike) -> str:
    names = ", ".join(map(quoted_text, fact["attributes"]))
    if "more" in dict(fact.details):
        return _(
            "cut points of {attributes} and {more} more: the default grid of the declared bounds",
            attributes=names,
            more=fact["more"],
        )
    return _("cut points of {attributes}: the default grid of the declared bounds", attributes=names)


def _exact_search(fact: FactLike) -> str:
    parts = {"levels": pgettext("search", "levels"), "rules": pgettext("search", "rules")}
    values = {"size": fact["size"], "parts": parts.get(fact["parts"], fact["parts"])}
    if fact.get("jointly") is not None:
        return _(
            "search chosen automatically, from public information only: exact, up to {size} {parts}, {jointly} of them "
            "jointly at a time",
            jointly=fact["jointly"],
            **values,
        )
    if fact.get("draws_size"):
        return _(
            "search chosen automatically, from public information only: exact, up to {size} {parts} jointly, together "
            "with their number",
            **values,
        )
    return _("search chosen automatically, from public information only: exact, up to {size} {parts} jointly", **values)


_CHOSEN = {
    "tree": gettext_noop("model chosen automatically: a tree; {reason}"),
    "scorecard": gettext_noop("model chosen automatically: a scorecard; {reason}"),
    "either": gettext_noop("model chosen automatically: a tree or a scorecard; {reason}"),
}
_CHOICES = {
    "few_rows": gettext_noop(
        "the table has {rows} rows; at this epsilon, a scorecard is considered with {needed} rows or more"
    ),
    "many_rows": gettext_noop(
        "the table has {rows} rows; at this epsilon, a scorecard is considered with {needed} rows or more; trees of "
        "this many attributes are not drawn in one step"
    ),
    "drawn": gettext_noop(
        "drawn from all trees and a scorecard by their misclassified rows; the table has {rows} rows; at this "
        "epsilon, a scorecard is considered with {needed} rows or more"
    ),
    "ranking": gettext_noop("a scorecard ranks rows better than a tree with labels"),
    "monotone": gettext_noop("only scorecards keep the declared monotone attributes"),
    "costs": gettext_noop("the labels of a tree are drawn by the declared costs"),
    "weights": gettext_noop("only trees and rule lists use weights of rows"),
}


def _model_choice(fact: FactLike) -> str:
    rows = number(fact.get("rows", 0))
    values = {
        "rows": _("about {rows}", rows=rows) if fact.get("is_noisy") else rows,
        "needed": fact.get("rows_needed", 0),
    }
    return _(_CHOSEN[fact["model"]], reason=_(_CHOICES[fact["because"]], **values))


def _model_is_public(fact: FactLike) -> str:
    message = {
        "no_guarantee": gettext_noop(
            "the model counts as public: no guarantee holds for persons whose rows it was learned from, since the "
            "model has none"
        ),
        "other_unit": gettext_noop(
            "the model counts as public: for persons whose rows it was learned from, add the privacy loss of the model "
            "for this unit; its card protects another unit"
        ),
        "sum": gettext_noop(
            "the model counts as public: for persons whose rows it was learned from, both losses add up to epsilon = "
            "{epsilon}"
        ),
    }[fact["because"]]
    return _(message, epsilon=_amount(fact.get("epsilon", 0)))


_ROW_IS_UNIT = gettext_noop(
    "the guarantee is for one row: for a person with k rows in the table, it holds with k times the epsilon"
)
_ROW_IS_UNIT_DELTA = gettext_noop(
    "the guarantee is for one row: for a person with k rows in the table, it holds with k times the epsilon and with "
    "k·exp((k - 1)·epsilon) times the delta, which is useful for few rows only"
)


def _oracle_unit(fact: FactLike) -> str:
    return ngettext(
        "at most {count} row of each unit, drawn at random, is used; a person with two {column} is two units",
        "at most {count} rows of each unit, drawn at random, are used; a person with two {column} is two units",
        fact["rows"],
        column=quoted_text(fact["column"]),
    )


def _per_curator(fact: FactLike) -> str:
    amounts = list(zip(fact["epsilon"], fact["delta"], strict=False))
    each = (
        _("curator {number}: epsilon {epsilon}, delta {delta}", number=place, epsilon=_amount(e), delta=_amount(d))
        for place, (e, d) in enumerate(amounts, 1)
    )
    text = ngettext("rows of {count} curator", "rows of {count} curators", len(amounts))
    return enumerated([text, *each])


def timing(seconds: float | None) -> str:
    """Return the time at which a service sends its answers: a number of seconds after the charge, or immediately."""
    if seconds is None:
        return _(
            "open: answers are sent as soon as they are ready; the run time depends on the rows and has no noise added"
        )
    return _(
        "answers are sent {seconds} seconds after the charge, or at a multiple of that", seconds=_digits(seconds, 6)
    )


Words = str | Callable[[FactLike], str]

_QUERIES: dict[str, Words] = {
    "planned": gettext_noop("planned releases"),
    "all_so_far": gettext_noop("all releases so far"),
    "unused": gettext_noop("reserved, not used"),
    "model": gettext_noop("{learner}: one {model}"),
    "leaf_counts": lambda fact: _("counts of {leaves} by class", leaves=_leaves(fact)),
    "leaf_sums": lambda fact: _("sums of the levels below and above the rows of {leaves}", leaves=_leaves(fact)),
    "rules_draw": _rules_draw,
    "tree_draw": _tree_draw,
    "subtrees_draw": lambda fact: _(
        "draw of the subtrees below, of depth up to {depth}, with their {values}",
        depth=fact["depth"],
        values=_(_VALUES[fact["values"]]),
    ),
    "rule_choice": gettext_noop("choice of rule {number}"),
    "level_choice": gettext_noop("choice of the tests of level {number}"),
    "attribute_choice": gettext_noop("choice of attribute {number} of {of}"),
    "attribute_choices": lambda fact: _in_series(
        fact, ngettext("choice of {count} attribute", "choice of {count} attributes", fact["of"])
    ),
    "rows_left": gettext_noop("number of rows left for rule {rule}"),
    "candidate_counts": gettext_noop(
        "class counts of {candidates} candidates, and without a rule, for the choice of rule {rule}"
    ),
    "class_totals": lambda fact: _in_series(fact, _("rows of each class")),
    "number_totals": gettext_noop("number of rows, and sum of the predicted number"),
    "moments": lambda fact: _in_series(fact, _("number of rows, and sums of the predicted number and of its square")),
    "histograms": _histograms,
    "associations": gettext_noop("associations of all attributes with the target"),
    "attribute_residuals": lambda fact: ngettext(
        "residuals by {count} attribute, and their variances by two attributes",
        "residuals by {count} attributes, and their variances by two attributes",
        fact["attributes"],
    ),
    "bin_residuals": lambda fact: _("residuals by bin of {attribute}", attribute=quoted_text(fact["attribute"])),
    "class_residuals": lambda fact: _(
        "residuals by bin and class of {attribute}", attribute=quoted_text(fact["attribute"])
    ),
    "residual_sizes": gettext_noop("sum of the absolute residuals"),
    "calibration": lambda fact: (
        _("rows by total and class")
        if fact["by"] == "total"
        else _("correct and incorrect predictions by lead of the largest total")
    ),
    "cut_points": gettext_noop("all cut points of {attribute}"),
    "schema_cut_points": gettext_noop("cut points of a schema"),
    "evaluation": _evaluation,
    "answer": lambda fact: _answer(fact, _(_COUNTED[fact["by"]])),
    "question": lambda fact: _(
        "{answer}, question {number} of {questions}",
        answer=_by_bin(fact),
        number=fact["number"],
        questions=fact["of"],
    ),
    "series": lambda fact: _(
        "up to {answers} answers, all of them charged with the first; the first: {answer}",
        answers=fact["of"],
        answer=_by_bin(fact),
    ),
    "other_answers": gettext_noop("steps that were not taken"),
    "fewer_attributes": gettext_noop("questions about fewer attributes"),
    "questions_left": lambda fact: ngettext("{count} question left", "{count} questions left", fact["number"]),
    "all_questions_left": gettext_noop("all questions left, those about hypotheses included"),
    "curators": _curators,
}
_MECHANISMS: dict[str, Words] = {
    "permute_and_flip": _permute_and_flip,
    "gumbel_choice": _gumbel_choice,
    "discrete_laplace": lambda fact: _(
        "discrete Laplace, sensitivity {sensitivity}, scale {scale}",
        sensitivity=fact["sensitivity"],
        scale=_digits(fact["scale"]),
    ),
    "shared_histograms": _shared_histograms,
    "discrete_gaussian": _gaussian,
    "gumbel_peeling": _peeling,
    "model_draw": _model_draw,
    "joint_quantiles": _joint_quantiles,
    "noisy_min": _noisy_min,
    "exponential_choice": lambda fact: _(
        "exponential mechanism, weight exp(-{weight} × score), sensitivity {sensitivity}",
        weight=_digits(fact["weight"]),
        sensitivity=_digits(fact["sensitivity"], 6),
    ),
    "clipped_ratio": lambda fact: _(
        "EXPRIL's clipped ratio as published, Laplace noise of scale {scale} on the numerator",
        scale=_digits(fact["scale"]),
    ),
    "as_stated": gettext_noop("as stated on the cards of the curators"),
}
_LOSSES: dict[str, Words] = {
    "errors": gettext_noop("misclassified rows"),
    "brier": gettext_noop("Brier loss"),
    "mixed": gettext_noop("mixed loss"),
    "cost": lambda fact: _("cost of errors, in units of {largest}", largest=_digits(fact["largest"], 6)),
    "absolute_classes": gettext_noop("absolute error, in units of {classes} classes"),
    "absolute": lambda fact: _("absolute error, in units of {range}", range=number(value_text(fact["range"]))),
    "squared": lambda fact: _(
        "squared error, scaled so that an error of {bound} or more costs 1", bound=number(value_text(fact["bound"]))
    ),
    "quantile": lambda fact: _(
        "quantile loss, scaled so that an error of {range} on the side of weight {weight} costs 1",
        range=number(value_text(fact["range"])),
        weight=_digits(fact["weight"], 6),
    ),
}
_REASONS: dict[str, Words] = {
    "seeded": gettext_noop("seeded noise"),
    "other_noise": gettext_noop("noise from a source other than hedgerow's"),
    "from_rows": gettext_noop("schema inferred from the rows"),
    "published": _published,
    "unproven": lambda fact: _("not proven: {reason}", reason=unproven(fact["mechanism"])),
    "unproven_ratio": gettext_noop(
        "published as epsilon-differential privacy, which is false: a bin without rows always has the answer 0, and a "
        "bin with rows does not; the loss for a bin of m rows is up to the larger of 1/lambda and m/((m + 1) lambda) "
        "+ ln((m + 1)/m)"
    ),
    "opaque_hypothesis": gettext_noop(
        "a hypothesis was evaluated by its own code, which sees the private rows, and whose prediction for one row "
        "can depend on other rows"
    ),
    "read_from": _read_from,
    "narrowed": gettext_noop("narrowed to the values that a model without a guarantee accepts"),
    "made_of_tests": gettext_noop("built from the tests of a model that states no guarantee"),
    "learned_by": gettext_noop("learned by {library}, which states no guarantee"),
    "not_private": gettext_noop("not private"),
    "exact_answers": gettext_noop("not private: exact answers"),
    "nothing_answered": gettext_noop("nothing was answered"),
}
_NOTES: dict[str, Words] = {
    "columns_public": gettext_noop("the names, types and order of the columns count as public, like the schema"),
    "row_is_unit": _ROW_IS_UNIT,
    "not_noised": gettext_noop(
        "run time, and errors about values outside the schema, depend on the rows and have no noise added: they are "
        "for the curator only"
    ),
    "rows_used": _rows_used,
    "unit_is_person": _unit_is_person,
    "weighted": _weighted,
    "own_weights": gettext_noop(
        "the guarantee holds if the weight of a person depends on no other person's row, as design weights do; "
        "weights that were raked, calibrated or adjusted for non-response on this table are not covered"
    ),
    "default_grid": _default_grid,
    "attributes_chosen": gettext_noop(
        "at most {most} of {attributes} attributes are chosen first; search='exact' draws from all of them"
    ),
    "greedy_search": gettext_noop(
        "search chosen automatically, from public information only: greedy, because no exact search is within the "
        "limits and eight seconds"
    ),
    "exact_search": _exact_search,
    "rounded_impurity": gettext_noop(
        "the Gini impurity is rounded to float64; its largest change by one row, 1/2, occurs between exact values, and "
        "smaller changes leave room for the rounding"
    ),
    "model_choice": _model_choice,
    "model_is_public": _model_is_public,
    "oracle_public": gettext_noop(
        "the names, types and order of the columns, the classes, and the number of questions count as public"
    ),
    "hypotheses_are_data": gettext_noop(
        "hypotheses are data: each row is evaluated in arithmetic that does not depend on other rows"
    ),
    "hypotheses_paid": gettext_noop(
        "hypotheses count as public, or as charged elsewhere: add the epsilon of each hypothesis that was learned from "
        "these rows"
    ),
    "denied": lambda fact: _(
        "a question used a hypothesis whose card states no guarantee ({reasons})",
        reasons=of_reasons(fact["because"]),
    ),
    "oracle_row_is_unit": lambda fact: _(_ROW_IS_UNIT_DELTA if fact.get("delta") else _ROW_IS_UNIT),
    "oracle_unit": _oracle_unit,
    "per_curator": _per_curator,
    "row_at_one_curator": lambda fact: _(
        "each row is with one curator and is charged what that curator charges; a person with a row at each curator is "
        "charged the sum, epsilon {epsilon}",
        epsilon=_amount(fact["epsilon"]),
    ),
    "unit_at_every_curator": lambda fact: _(
        "rows of one {column} can be with every curator: the charge is the sum", column=quoted_text(fact["column"])
    ),
    "columns_left_out": lambda fact: _(
        "columns left out, which are constant in the public source: {columns}",
        columns=", ".join(map(quoted_text, fact["columns"])),
    ),
    "unsigned": gettext_noop(
        "the sender of the answers was not verified: the curator's key was not given (connect(..., public_key=))"
    ),
    "asked_of": lambda fact: _(
        "answered by the service of a curator about the dataset {dataset}, epoch {epoch}",
        dataset=repr(fact["dataset"]),
        epoch=fact["epoch"],
    ),
    "timing": lambda fact: _("timing: {timing}", timing=timing(fact.get("seconds"))),
    "oversubscribed": gettext_noop(
        "the analysts' caps add up to more than the dataset's cap: some analysts can use up the budget of the others"
    ),
}
_SOURCES: dict[str, Words] = {
    "opendp": gettext_noop("OpenDP {version}, cryptographic generator of OpenSSL"),
    "operating_system": gettext_noop("hedgerow's own samplers, cryptographic generator of the operating system"),
    "seeded_generator": gettext_noop("seeded NumPy generator: not private"),
    "no_noise": lambda _fact: pgettext("noise", "none"),
    "unknown_noise": lambda _fact: pgettext("noise", "unknown"),
    "several": lambda fact: enumerated(source.words for source in fact["sources"]),
    "hedgerow": "hedgerow {version}",
    "library": "{name}",
    "unknown_software": lambda _fact: pgettext("software", "unknown"),
}
WORDS: Mapping[str, Words] = {
    "text": lambda fact: fact["text"],
    **_QUERIES, **_MECHANISMS, **_LOSSES, **_REASONS, **_NOTES, **_SOURCES,
}  # fmt: skip
