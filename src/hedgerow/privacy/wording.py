"""Sentences about facts and units: what was released, by which mechanism, what is neighbouring, what is guaranteed.

This is the one module with these words. Each code of `hedgerow.privacy.facts` has an entry in `WORDS`: a template, or a
function of the fact; units have functions of their own. Nothing reads the sentences back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from hedgerow.privacy.amounts import amount_text
from hedgerow.text.messages import number_of
from hedgerow.text.values import quoted_text, value_text


class FactLike(Protocol):
    """A `hedgerow.privacy.facts.Fact`, which is rendered here."""

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


ONE_ROW = "one row that fits the schema"
_DIFFER = "tables that differ by adding or removing"


def of_fact(fact: FactLike) -> str:
    """Return a fact in words."""
    words = WORDS[fact.code]
    shown = {name: float(value) if isinstance(value, Fraction) else value for name, value in fact.details}
    text = words(fact) if callable(words) else words.format_map(shown)
    return f"{text}; nodes hold different rows" if "disjoint" in shown else text


def of_reasons(reasons: Iterable[FactLike]) -> str | None:
    """Return why there is no guarantee, in words; None if there is one."""
    return "; ".join(reason.words for reason in reasons) or None


def of_unit(unit: UnitLike | None) -> str:
    """Return a unit of privacy in words."""
    return ONE_ROW if unit is None else f"one {noun(unit)} ({used(unit)})"


def noun(unit: UnitLike | None, show: Callable[[str], str] = quoted_text) -> str:
    """Return the noun of a unit of privacy: row, or the column, which `show` makes safe for the text that it is in."""
    return "row" if unit is None else show(unit.column)


def all_rows(unit: UnitLike | None, show: Callable[[str], str] = quoted_text) -> str:
    """Return all rows of a unit in words."""
    return f"{'one' if unit is None else 'all rows of one'} {noun(unit, show)}"


def protected(unit: UnitLike | None) -> str:
    """Return which rows are protected, with the verb."""
    return "Every row is" if unit is None else f"All rows of each {noun(unit)} together are"


def suspected(unit: UnitLike | None) -> str:
    """Return which rows may be suspected to be in the table, with the verb."""
    return "a row is" if unit is None else f"the rows of one {noun(unit)} are"


def used(unit: UnitLike) -> str:
    """Return how many rows of a unit are used, in words."""
    most, verb = (f"at most {unit.max_rows}", "are") if unit.max_rows > 1 else ("one", "is")
    return f"{most} of its rows, drawn at random, {verb} used"


def neighbours(unit: UnitLike | None) -> str:
    """Return the neighbouring relation in words."""
    return f"{_DIFFER} {ONE_ROW if unit is None else f'{all_rows(unit)}; {used(unit)}'}"


def headline(epsilon: Fraction | None, delta: Fraction | None, reasons: Iterable[FactLike]) -> str:
    """Return a guarantee in a few words; ``none`` with the reasons if there is none."""
    why = of_reasons(reasons)
    if epsilon is None or why is not None:
        return f"none ({why})"
    if delta:
        return f"(epsilon, delta)-differential privacy with ({amount_text(epsilon)}, {amount_text(delta)})"
    return f"epsilon-differential privacy with epsilon = {amount_text(epsilon)}"


def guarantee(epsilon: Fraction, delta: Fraction | None, unit: UnitLike | None) -> str:
    """Return a guarantee in one sentence."""
    changed = ONE_ROW if unit is None else f"one {noun(unit)}"
    more = f", plus {amount_text(delta)}" if delta else ""
    return (
        f"{headline(epsilon, delta, ())}: adding or removing any {changed} changes the probability of any "
        f"model by a factor of at most e^{amount_text(epsilon)}{more}{'' if unit is None else f'; {used(unit)}'}"
    )


def reserve(query: FactLike, epsilon: Fraction, rho: Fraction | None) -> str:
    """Return a reserve in words."""
    most = f"epsilon = {amount_text(epsilon)}" if epsilon else f"rho = {amount_text(rho or 0)}"
    return f"{query.words}, of up to {most} more: bounds in rho hold for all together"


def _leaves(fact: FactLike) -> str:
    number = fact.get("number", 0)
    return {
        "leaves": "the leaves",
        "rules": number_of(number, "rule"),
        "rule": f"rule {number}",
        "default_rule": "the default rule",
    }[fact["of"]]


def _drawn(fact: FactLike, size: str) -> str:
    whose = size.split()[0]
    return f"{size} and {whose} {fact['values']}" if fact.get("draws_size") else f"{whose} {fact['values']}"


def _rules_draw(fact: FactLike) -> str:
    more = "more " if fact.get("further") else ""
    return f"draw of up to {fact['most']} {more}rules with {_drawn(fact, 'their number')}"


def _series(fact: FactLike, counts: str) -> str:
    return f"all {counts}, charged with the first: " if fact.get("series") else ""


def _histograms(fact: FactLike) -> str:
    what = "rows by bin and class" if fact["of"] == "classes" else "rows and sums of the number by bin"
    return f"{_series(fact, 'counts')}{what} of {number_of(fact['attributes'], 'attribute')}"


def _by_bin(fact: FactLike) -> str:
    counted = "marginals" if fact["by"] == "rows" else fact["by"]
    return f"{counted} by bin of {number_of(fact['attributes'], 'attribute')}"


def _evaluation(fact: FactLike) -> str:
    named = {"classes": "rows by true class and score band", "numbers": "rows by band of the true number"}
    of = named.get(fact["of"], "rows by the error of the prediction")
    return f"evaluation of the {fact['model']} {fact['digest']}: {of}"


def _curators(fact: FactLike) -> str:
    what = "all answers" if fact["of"] == "answers" else "questions left"
    return f"{what}, of {'all curators' if fact['together'] == 'sum' else 'the curator who charged most'}"


def _noisy_max(name: str) -> Callable[[FactLike], str]:
    def words(fact: FactLike) -> str:
        kind = "monotone" if fact["directions"] == 1 else "two-sided"
        return f"{name}, {kind}, noise of scale {float(fact['scale']):.4g} sensitivities"

    return words


def _gaussian(fact: FactLike) -> str:
    which = f"answer {fact['number']}" if fact["parts"] == 1 else f"{float(fact['parts']):.4g} parts"
    return f"discrete Gaussian, {which} of {fact['answers']}, sigma {fact['scale']:.4g}{_together(fact)}"


def _together(fact: FactLike) -> str:
    mu = fact.get("mu")
    return "" if mu is None else f", all together {amount_text(mu, digits=4)}-GDP"


def _shared_histograms(fact: FactLike) -> str:
    shared = f"histograms of {fact['attributes']} attributes with {fact['bins']} bins"
    groups, alone = fact.get("groups"), fact.get("alone")
    if groups is not None:
        shared += f" in {groups} groups"
    if alone is not None:
        shared += f", {number_of(alone, 'attribute')} of them with discrete Laplace noise"
    scale = f"sensitivity {fact['sensitivity']}, scale {float(fact['scale']):.4g}"
    return f"K-norm noise shared by {shared}, {scale}; its rho is the largest that this epsilon allows"


def _peeling(fact: FactLike) -> str:
    return (
        f"exponential mechanism, {number_of(fact['draws'], 'draw')}, {float(fact['parts']):.4g} parts of "
        f"{fact['answers']}, Gumbel noise of scale {fact['scale']:.4g}{_together(fact)}"
    )


def _tree_draw(fact: FactLike) -> str:
    tree = f"a tree of depth up to {fact['depth']} with {_drawn(fact, 'its depth')}"
    return f"draw of {tree}{', or of the scorecard' if fact.get('or_scorecard') else ''}"


def _model_draw(fact: FactLike) -> str:
    handicap = fact.get("handicap")
    models = "all models" if handicap is None else f"all models and a released one of prior weight exp(-{handicap})"
    return (
        f"exponential mechanism over {models}, weight exp(-{float(fact['weight']):.8g} {fact['loss'].words}), "
        f"sensitivity 1, {float(fact['kept']):.2g} kept for rounding"
    )


def _noisy_min(fact: FactLike) -> str:
    name = {
        "laplace": "Laplace noise of scale",
        "cauchy": "Cauchy noise of scale",
        "gaussian": "Gaussian noise of standard deviation",
    }[fact["noise"]]
    beta = fact.get("beta")
    unit = f", sensitivity {fact['sensitivity']:g}" if beta is None else f" smooth sensitivities, beta {beta:.4g}"
    return f"smallest after {name} {fact['scale']:.4g}{unit}"


def _published(fact: FactLike) -> str:
    epsilon, delta = float(fact["epsilon"]), fact.get("delta")
    return (
        f"published as {f'{epsilon:g}' if delta is None else f'({epsilon:g}, {float(delta):.4g})'}-differential privacy"
    )


_SMOOTH_GAP = (
    "the scale of the noise depends on the rows, for which noisy max has no proof; fewer rows than min_remaining may "
    "be left, with probability 1 - confidence before each rule, and the noise is then too small; the sensitivity is "
    "that to added rows only; the number of rows is taken as public"
)
_GAPS = {
    "smooth-laplace": _SMOOTH_GAP,
    "smooth-cauchy": f"{_SMOOTH_GAP}; Cauchy noise is not hardened against attacks on floating-point numbers",
    "global-laplace": (
        "one row can raise the Gini impurity of some rules and lower that of others, for which noisy max needs noise "
        "twice as large"
    ),
    "global-gaussian": (
        "the loss of one noisy score is claimed for the choice among all of them, by a formula for epsilon below 1"
    ),
}


def unproven(mechanism: str) -> str:
    """Return why the published guarantee of a mechanism of SSRL is not proven."""
    return _GAPS[mechanism]


def _read_from(fact: FactLike) -> str:
    own = "; the file that hedgerow saved may state one" if fact.get("ours") else ""
    return f"read from {fact['format']}, which states none{own}"


def _rows_used(fact: FactLike) -> str:
    most = fact["rows"]
    if most == 1:
        return "at most 1 row of each unit, drawn at random, is used"
    runs = f"a mechanism without delta runs at epsilon/{most}"
    return f"at most {most} rows of each unit, drawn at random, are used; {runs}"


def _unit_is_person(fact: FactLike) -> str:
    return f"each {quoted_text(fact['column'])} counts as one person: a person with two of them is two units"


def _weighted(fact: FactLike) -> str:
    name, high, levels = quoted_text(fact["column"]), value_text(fact["largest"]), fact["levels"]
    return (
        f"weighted by {name}, at most {high}: a row of weight w counts as w/{high} of a row, in {levels} steps, "
        f"for each of which mechanisms run at epsilon/{levels}"
    )


def _default_grid(fact: FactLike) -> str:
    more = f" and {fact['more']} more" if "more" in dict(fact.details) else ""
    names = ", ".join(map(quoted_text, fact["attributes"]))
    return f"cut points of {names}{more}: the default grid of the declared bounds"


def _exact_search(fact: FactLike) -> str:
    size, jointly = (
        f"search chosen by its public cost: exact: up to {fact['size']} {fact['parts']}",
        fact.get("jointly"),
    )
    if jointly is None:
        return f"{size} jointly{', their number drawn too' if fact.get('draws_size') else ''}"
    return f"{size}, {jointly} jointly at a time"


def _model_choice(fact: FactLike) -> str:
    model = {"tree": "a tree", "scorecard": "a scorecard", "either": "a tree or a scorecard"}[fact["model"]]
    why = {
        "few_rows": "{rows} rows are fewer than the {needed} from which on a scorecard competes at this epsilon",
        "many_rows": "{rows} rows are at least {needed}, and trees of so many attributes are not drawn all at once",
        "drawn": (
            "drawn from all trees and a scorecard by their misclassified rows; {rows} rows are at least the {needed} "
            "from which on a scorecard competes at this epsilon"
        ),
        "ranking": "a scorecard ranks rows better than a tree with labels",
        "monotone": "only scorecards keep the declared monotone attributes",
        "costs": "the labels of a tree are drawn by the declared costs",
        "weights": "only trees and rule lists take weights of rows",
    }[fact["because"]]
    rows, needed = f"{fact.get('rows', 0):,}", f"{fact.get('rows_needed', 0):,}"
    why = why.format(rows=f"about {rows}" if fact.get("is_noisy") else rows, needed=needed)
    return f"model chosen automatically: {model}; {why}"


def _model_is_public(fact: FactLike) -> str:
    more = {
        "no_guarantee": "no guarantee holds, since the model has none",
        "other_unit": "count the loss of the model for this unit first; its card protects another",
        "sum": f"both losses add up: epsilon = {amount_text(fact.get('epsilon', 0))} in all",
    }[fact["because"]]
    return f"the model counts as public: for a person whose rows it was learned from, {more}"


_ROW_IS_UNIT = "one row is one protected unit: a person with k rows in the table is protected with k times the epsilon"
_FOR_FEW = ", and a delta of k·exp((k - 1)·epsilon) times the delta, which is of use for few rows only"


def _oracle_unit(fact: FactLike) -> str:
    rows, of = fact["rows"], "of each unit, drawn at random,"
    most = f"1 row {of} is" if rows == 1 else f"{rows} rows {of} are"
    return f"at most {most} used; a person with two {quoted_text(fact['column'])} is two"


def _per_curator(fact: FactLike) -> str:
    both = list(zip(fact["epsilon"], fact["delta"], strict=False))
    each = (f"curator {n}: epsilon {amount_text(e)}, delta {amount_text(d)}" for n, (e, d) in enumerate(both, 1))
    return f"rows of {len(both)} curators; {'; '.join(each)}"


def timing(seconds: float | None) -> str:
    """Return when the answers of a service leave, in words: so many seconds after the charge, or at once."""
    if seconds is None:
        return "open: answers leave as soon as they are there; run time depends on the rows and is not noised"
    return f"answers leave {seconds:g} seconds after the charge, or at a multiple of that"


Words = str | Callable[[FactLike], str]

_QUERIES: dict[str, Words] = {
    "planned": "what is planned",
    "all_so_far": "all so far",
    "unused": "reserved and not used",
    "model": "{learner}: one {model}",
    "leaf_counts": lambda fact: f"counts of {_leaves(fact)} by class",
    "leaf_sums": lambda fact: f"sums of the levels below and above the rows of {_leaves(fact)}",
    "rules_draw": _rules_draw,
    "tree_draw": _tree_draw,
    "subtrees_draw": "draw of the subtrees below, of depth up to {depth}, with their {values}",
    "rule_choice": "choice of rule {number}",
    "level_choice": "choice of the tests of level {number}",
    "attribute_choice": "choice of attribute {number} of {of}",
    "attribute_choices": lambda fact: f"{_series(fact, 'answers')}choice of {number_of(fact['of'], 'attribute')}",
    "rows_left": "number of rows left for rule {rule}",
    "candidate_counts": "class counts of {candidates} candidates and of no rule, for the choice of rule {rule}",
    "class_totals": lambda fact: f"{_series(fact, 'counts')}rows of each class",
    "number_totals": "rows, and the sum of the number",
    "moments": lambda fact: f"{_series(fact, 'sums')}rows, and sums of the number and of its square",
    "histograms": _histograms,
    "associations": "associations of all attributes",
    "attribute_residuals": lambda fact: (
        f"residuals by {number_of(fact['attributes'], 'attribute')}, and their variances by two"
    ),
    "bin_residuals": lambda fact: f"residuals by bin of {quoted_text(fact['attribute'])}",
    "class_residuals": lambda fact: f"residuals by bin and class of {quoted_text(fact['attribute'])}",
    "residual_sizes": "sum of the sizes of residuals",
    "calibration": lambda fact: (
        "rows by total and class" if fact["by"] == "total" else "rows got wrong and right by lead"
    ),
    "cut_points": "all cut points of {attribute}",
    "schema_cut_points": "cut points of a schema",
    "evaluation": _evaluation,
    "answer": lambda fact: f"{fact['by']} by bin of {number_of(fact['attributes'], 'attribute')}",
    "question": lambda fact: f"{_by_bin(fact)}, question {fact['number']} of {fact['of']}",
    "series": lambda fact: f"up to {fact['of']} answers, all charged with the first; the first: {_by_bin(fact)}",
    "other_answers": "what other answers would have led to",
    "fewer_attributes": "questions about fewer attributes",
    "questions_left": lambda fact: f"{number_of(fact['number'], 'question')} left",
    "all_questions_left": "questions left, hypotheses' included",
    "curators": _curators,
}
_MECHANISMS: dict[str, Words] = {
    "permute_and_flip": _noisy_max("permute-and-flip"),
    "gumbel_choice": _noisy_max("exponential mechanism"),
    "discrete_laplace": "discrete Laplace, sensitivity {sensitivity}, scale {scale:.4g}",
    "shared_histograms": _shared_histograms,
    "discrete_gaussian": _gaussian,
    "gumbel_peeling": _peeling,
    "model_draw": _model_draw,
    "joint_quantiles": (
        "quantiles for {bins} bins, jointly by the exponential mechanism over {candidates} public candidates, weight "
        "exp(-{weight:.6g} score), sensitivity {sensitivity}, {kept:.2g} kept for rounding"
    ),
    "noisy_min": _noisy_min,
    "exponential_choice": "exponential mechanism, weight exp(-{weight:.4g} score), sensitivity {sensitivity:g}",
    "clipped_ratio": "EXPRIL's clipped ratio as published, Laplace noise of scale {scale:.4g} on the numerator",
    "as_stated": "as the curators' own cards say",
}
_LOSSES: dict[str, Words] = {
    "errors": "errors",
    "brier": "brier loss",
    "mixed": "mixed loss",
    "cost": "cost loss, of which 1 is a cost of {largest:g}",
    "absolute_classes": "absolute loss, of which 1 is {classes} classes",
    "absolute": lambda fact: f"absolute loss, of which 1 is an error of {value_text(fact['range'])}",
    "squared": lambda fact: f"squared loss, of which 1 is an error of {value_text(fact['bound'])} or more, squared",
    "quantile": lambda fact: (
        f"quantile loss, of which 1 is an error of {value_text(fact['range'])} on the side that weighs "
        f"{fact['weight']:g}"
    ),
}
_REASONS: dict[str, Words] = {
    "seeded": "seeded",
    "other_noise": "noise from another source than hedgerow's",
    "from_rows": "domain taken from the data",
    "published": _published,
    "unproven": lambda fact: f"not proven: {unproven(fact['mechanism'])}",
    "unproven_ratio": (
        "published as epsilon-differential privacy, which it is not: a bin without rows answers 0 for certain, and "
        "another does not; the loss of a bin of m rows is up to 1/lambda or m/((m + 1) lambda) + ln((m + 1)/m), the "
        "larger"
    ),
    "opaque_hypothesis": (
        "a hypothesis was evaluated by its own code, which sees the private rows, and whose prediction for one row "
        "can depend on the others"
    ),
    "read_from": _read_from,
    "narrowed": "narrowed to the values that a model without a guarantee accepts",
    "made_of_tests": "made of the tests of a model that states no guarantee",
    "learned_by": "learned by {library}, which states no guarantee",
    "not_private": "not private",
    "exact_answers": "not private: exact answers",
    "nothing_answered": "nothing was answered",
}
_NOTES: dict[str, Words] = {
    "columns_public": "the names, types and order of the columns count as public, like the schema",
    "row_is_unit": _ROW_IS_UNIT,
    "not_noised": (
        "errors about values outside the schema, and run time, are for the curator's eyes only: neither is noised"
    ),
    "rows_used": _rows_used,
    "unit_is_person": _unit_is_person,
    "weighted": _weighted,
    "own_weights": (
        "holds where the weight of a person depends on nobody else's row, as design weights do: weights that were "
        "raked, calibrated or adjusted for non-response on the table itself are not covered"
    ),
    "default_grid": _default_grid,
    "attributes_chosen": (
        "of {attributes:,} attributes at most {most} are chosen first; search='exact' draws from all"
    ),
    "greedy_search": (
        "search chosen by its public cost: greedy: no exact search is within the limits and eight seconds"
    ),
    "exact_search": _exact_search,
    "rounded_impurity": (
        "the Gini impurity is rounded to float64; its largest change by one row, 1/2, is between exact values, and "
        "the others leave room for the rounding"
    ),
    "model_choice": _model_choice,
    "model_is_public": _model_is_public,
    "oracle_public": (
        "the names, types and order of the columns, the classes, and the number of questions count as public"
    ),
    "hypotheses_are_data": (
        "hypotheses are data: each row is evaluated in arithmetic that does not depend on the others"
    ),
    "hypotheses_paid": (
        "hypotheses count as public, or as paid for: if one was learned from these rows, its own cost comes on top"
    ),
    "denied": lambda fact: f"asked about a hypothesis whose own card says: none ({of_reasons(fact['because'])})",
    "oracle_row_is_unit": lambda fact: _ROW_IS_UNIT + (_FOR_FEW if fact.get("delta") else ""),
    "oracle_unit": _oracle_unit,
    "per_curator": _per_curator,
    "row_at_one_curator": lambda fact: (
        "one row is with one curator, and is charged what that one charges; somebody with a row at each pays the "
        f"sum, epsilon {amount_text(fact['epsilon'])}"
    ),
    "unit_at_every_curator": lambda fact: (
        f"rows of one {quoted_text(fact['column'])} can be with every curator: the charge is the sum"
    ),
    "columns_left_out": lambda fact: (
        f"columns left out, which are constant in the public source: {', '.join(map(quoted_text, fact['columns']))}"
    ),
    "unsigned": "nobody checked who sent the answers: the curator's key was not given (connect(..., public_key=))",
    "asked_of": lambda fact: f"asked of the dataset {fact['dataset']!r}, epoch {fact['epoch']}, of a curator's service",
    "timing": lambda fact: f"timing: {timing(fact.get('seconds'))}",
    "oversubscribed": (
        "the analysts' caps add up to more than the dataset's: together they can use up all of it before one asks"
    ),
}
_SOURCES: dict[str, Words] = {
    "opendp": "OpenDP {version}, cryptographic generator of OpenSSL",
    "operating_system": "hedgerow's own samplers, cryptographic generator of the operating system",
    "seeded_generator": "seeded NumPy generator: not private",
    "no_noise": "none",
    "unknown_noise": "unknown",
    "several": lambda fact: "; ".join(source.words for source in fact["sources"]),
    "hedgerow": "hedgerow {version}",
    "library": "{name}",
    "unknown_software": "unknown",
}
WORDS: Mapping[str, Words] = {
    "text": "{text}", **_QUERIES, **_MECHANISMS, **_LOSSES, **_REASONS, **_NOTES, **_SOURCES,
}  # fmt: skip
