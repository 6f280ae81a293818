"""Claims of PDR about its experiments (Section V and Appendix A), and whether each holds in the reproduction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.pdr.compare import Comparison, at_same, at_same_parameters, steps
from studies.pdr.runs import GREEDY, LISTS, OPTIMAL, Frame, parsed_ratios

YES, NO = "yes", "no"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, its location, and the result of the reproduction.

    Attributes
    ----------
    statement : str
        The claim in short.
    where : str
        Section and figure of the paper; "-" for claims that are not in the paper.
    holds : str
        "yes"; "no"; "on average", where it is claimed of every case and some contradict it; "undecided", where the t
        test over seeds is not significant; "-", where there is nothing to decide.
    found : str
        The numbers.
    """

    statement: str
    where: str
    holds: str
    found: str


def claims(records: Frame, kind: str, dataset: str) -> list[Claim]:
    """Return the claims of trees or lists on one dataset, from the records of all runs."""
    own = _of_lists if kind == LISTS else _of_trees
    return [*_setup(records), *_of_both(records), *own(records, dataset)]


def _setup(records: Frame) -> list[Claim]:
    optimal = records[records["learner"] == OPTIMAL]
    share, worst = optimal["certified"].mean(), optimal["gap"].max()
    over = records["accuracy"] - records["test_accuracy"]
    text = ", ".join(f"{name} {over[records['learner'] == name].mean():+.4f}" for name in (OPTIMAL, GREEDY))
    deepest = [_largest(records, name) for name in (OPTIMAL, GREEDY)]
    there = ", ".join(
        f"{name} {(part['accuracy'] - part['test_accuracy']).mean():+.4f}"
        for name, part in zip((OPTIMAL, GREEDY), deepest, strict=True)
    )
    return [
        Claim(
            "all optimal models are certified",
            "V-A",
            YES if share == 1 else NO,
            f"{100 * share:.1f} % of {len(optimal)}; largest gap {worst:.4f}",
        ),
        Claim(
            "models generalize (no verdict: the paper gives no numbers)",
            "V-A",
            "-",
            f"training less test accuracy: {text}; largest models: {there}",
        ),
    ]


def _of_both(records: Frame) -> list[Claim]:
    information, accuracy = at_same(records, "size", "uncertainty"), at_same(records, "size", "accuracy")
    leak = at_same(records, "accuracy", "uncertainty")
    return [
        Claim(
            "for a given size, optimal models usually contain more information",
            "V-B, Fig. 2a/3a, App. A",
            information.holds(-1),
            f"Dist_G, optimal − greedy at the same size: {information}",
        ),
        Claim(
            "for a given size, optimal models are way more accurate",
            "V-B",
            accuracy.holds(1),
            f"training accuracy, optimal − greedy at the same size: {accuracy}",
        ),
        Claim(
            "for a given accuracy, optimal models always leak less",
            "V-B, Fig. 2b/3b",
            leak.holds(1, always=True),
            f"Dist_G, optimal − greedy at the same accuracy: {leak}",
        ),
        _uneven(records),
        _grows("models grow with the maximum depth", "App. A, Fig. 5a/6a", steps(records, "depth", "size"), 1),
        _grows(
            "models grow as the minimum support falls",
            "App. A, Fig. 5a/6a",
            steps(records, "support", "size"),
            -1,
        ),
    ]


def _grows(statement: str, where: str, found: Comparison, sign: int) -> Claim:
    return Claim(statement, where, found.holds(sign), f"size from one step to the next: {found}")


def _uneven(records: Frame) -> Claim:
    part = records[records["size"] > 1]
    share, largest = _share_uneven(part), _share_uneven(_at_largest(part))
    spread = {
        name: np.mean([_spread(text) for text in _largest(records, name)["exposure"]]) for name in (OPTIMAL, GREEDY)
    }
    text = ", ".join(f"{name} {value:.3f}" for name, value in spread.items())
    return Claim(
        "the reduction of entropy differs between rows",
        "V-B, Fig. 4",
        YES if largest == 1 else NO,
        f"standard deviation over rows in the largest models: {text}; in {100 * share:.1f} % of all models with more "
        "than one split or rule some rows keep more than others",
    )


def _share_uneven(records: Frame) -> float:
    """Return the share of models with rows of different entropy ratios; 0 if there are no models."""
    uneven = [len(parsed_ratios(text)[0]) > 1 for text in records["exposure"]]
    return sum(uneven) / max(len(uneven), 1)


def _of_trees(records: Frame, dataset: str) -> list[Claim]:
    nodes, information = at_same_parameters(records, "size"), at_same_parameters(records, "uncertainty")
    sign, words = (1, "more") if dataset == "adult" else (-1, "less")
    biggest = records.groupby("learner")["size"].max()
    short = at_same_parameters(records, "short_branches")
    result = [
        Claim(
            "greedy trees have more nodes for the same parameters",
            "App. A, Fig. 5a",
            nodes.holds(-1),
            f"splits, optimal − greedy: {nodes}",
        ),
        Claim(
            f"greedy trees contain {words} information for the same parameters ({dataset})",
            "App. A, Fig. 5b",
            information.holds(sign),
            f"Dist_G, optimal − greedy: {information}",
        ),
        Claim(
            "many branches of optimal trees do not reach the maximum depth, unlike those of greedy ones",
            "App. A",
            short.holds(1),
            f"share of branches shorter than the maximum depth, optimal − greedy: {short}",
        ),
        Claim(
            "the largest trees have slightly more than 60 nodes (of both datasets and learners)",
            "Fig. 2",
            "-",
            f"largest here: optimal {biggest[OPTIMAL]}, greedy {biggest[GREEDY]} splits",
        ),
    ]
    if dataset == "adult":
        result.append(_largest_trees(records))
    return result


def _largest_trees(records: Frame) -> Claim:
    part = _at_largest(records)
    size, left = at_same_parameters(part, "size"), at_same_parameters(part, "uncertainty")
    return Claim(
        "the largest greedy trees contain more information than optimal ones, which are more compact (adult)",
        "V-B, Fig. 4a",
        YES if size.holds(-1) == left.holds(1) == YES else NO,
        f"optimal − greedy: splits {size}; Dist_G {left}",
    )


def _of_lists(records: Frame, dataset: str) -> list[Claim]:
    information, size = at_same_parameters(records, "uncertainty"), at_same_parameters(records, "size")
    stopped = {
        name: float((part["size"] < part["depth"]).mean())
        for name, part in ((name, records[records["learner"] == name]) for name in (OPTIMAL, GREEDY))
    }
    result = [
        Claim(
            "greedy lists more often run out of rules with enough support",
            "App. A, Fig. 6a",
            YES if stopped[GREEDY] > stopped[OPTIMAL] else NO,
            f"lists shorter than allowed: optimal {100 * stopped[OPTIMAL]:.1f} %, greedy {100 * stopped[GREEDY]:.1f} %;"
            f" rules, optimal − greedy at the same parameters: {size}",
        ),
        Claim(
            "optimal lists contain more information for the same parameters",
            "App. A, Fig. 6b",
            information.holds(-1),
            f"Dist_G, optimal − greedy: {information}",
        ),
        _most_proportions(records),
    ]
    if dataset == "adult":
        result.append(_ends(records))
    return [*result, *_reordered(records)]


def _most_proportions(records: Frame) -> Claim:
    shares = (np.arange(100) + 0.5) / 100
    means = {
        name: np.mean([_quantiles(text, shares) for text in _largest(records, name)["exposure"]], axis=0)
        for name in (OPTIMAL, GREEDY)
    }
    lower = float((means[OPTIMAL] < means[GREEDY] - 1e-9).mean())
    equal = float((np.abs(means[OPTIMAL] - means[GREEDY]) <= 1e-9).mean())
    return Claim(
        "the largest optimal lists leave less entropy than greedy ones at most proportions of rows",
        "V-B, Fig. 4b",
        YES if lower > 0.5 else NO,
        f"less at {100 * lower:.0f} % of proportions, as much at {100 * equal:.0f} %",
    )


def _ends(records: Frame) -> Claim:
    kept = [parsed_ratios(text)[0] for text in _largest(records, OPTIMAL)["exposure"]]
    most_exposed, least_exposed = max(ratios[0] for ratios in kept), min(ratios[-1] for ratios in kept)
    return Claim(
        "largest optimal lists: the least exposed rows keep above .95 of their entropy, the most exposed below .60",
        "V-B, Fig. 4b",
        YES if least_exposed > 0.95 and most_exposed < 0.6 else NO,
        f"for every seed, least exposed {least_exposed:.4f} or more, most exposed {most_exposed:.4f} or less",
    )


def _reordered(records: Frame) -> list[Claim]:
    """Return the claims about information with every list in the order of its rules that discloses least."""
    width = records["most_uncertainty"] - records["least_uncertainty"]
    part = records.assign(uncertainty=records["most_uncertainty"])
    tests: list[tuple[str, Comparison, int]] = [
        ("for a given size, optimal lists contain more information", at_same(part, "size", "uncertainty"), -1),
        ("for a given accuracy, optimal lists leak less", at_same(part, "accuracy", "uncertainty"), 1),
        ("optimal lists contain more information for the same parameters", at_same_parameters(part, "uncertainty"), -1),
    ]
    mean = {name: width[records["learner"] == name] for name in (OPTIMAL, GREEDY)}
    text = ", ".join(f"{name} {value.mean():.4f} (at most {value.max():.4f})" for name, value in mean.items())
    return [
        Claim("Dist_G depends on the order of rules of one prediction", "-", "-", f"from least to most: {text}"),
        *(
            Claim(
                f"{name}, each in the order that tells least",
                "-",
                test.holds(sign),
                f"Dist_G, optimal − greedy: {test}",
            )
            for name, test, sign in tests
        ),
    ]


def _at_largest(records: Frame) -> Frame:
    return records[(records["depth"] == records["depth"].max()) & (records["support"] == records["support"].min())]


def _largest(records: Frame, learner: str) -> Frame:
    part = _at_largest(records)
    return part[part["learner"] == learner]


def _spread(text: str) -> float:
    ratios, rows = parsed_ratios(text)
    mean = np.average(ratios, weights=rows)
    return float(np.average((ratios - mean) ** 2, weights=rows) ** 0.5)


def _quantiles(text: str, shares: np.ndarray) -> np.ndarray:
    """Return the quantiles of the entropy ratios over rows."""
    ratios, rows = parsed_ratios(text)
    return ratios[np.searchsorted(np.cumsum(rows) / rows.sum(), shares)]
