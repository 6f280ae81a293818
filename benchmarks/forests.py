"""Tables reconstructed from forests.

100 rows of COMPAS in the 14 columns of DRAFT's file, errors as shares of these columns, means of five samples (two
cores), by the attack in [lab/](../lab/README.md#the-table-behind-leaf-counts). *Other rows*: the error of the same
guess on other rows. *Public marginals*: the marginals of all other rows. *Published*: DRAFT-DP's error with N = 100
known, ten trees of depth 5.

{forests}

Using 100 other rows as a guess, without any model, has an error of {others_as_a_guess}.

- Forests without bootstrap disclose the table, completely from a hundred trees on. Bootstrap samples delay this.
- DRAFT-DP's likelihood is proven optimal in a median of {seconds_without_prior} s without a prior and
  {seconds_with_prior} s with one. At ε = 10 its error is {forest_error} (published: .045), much smaller than its error
  on other rows.
- At ε = 1 the forest discloses little about these rows: the error is close to the error on other rows.
- A drawn tree or list at the same ε discloses less: it has a few leaves, and ten trees have hundreds.
- The private forest has the noise of the published code: Laplace noise that is truncated towards 0. This noise does
  [not satisfy ε](../docs/studies/later-work.md#the-noise-of-the-published-forests): the loss of ten trees can be
  ε + 10·ln 2. With discrete Laplace noise, which satisfies ε, the forest discloses almost as much about a whole table.

With a prior, the search over 30 bagged trees finds no table within a minute at any depth, so it is omitted.
"""

import numpy as np
from measure import report, use_all_cores
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import hedgerow as hr
from hedgerow.audit import Paths
from lab.forests import GuessedTable, reconstruct
from studies.later_work import COLUMNS, SCHEMA, VALUES, compas, one_hot

ROWS, TREES, DEPTH, SOME, MANY, SEEDS, POPULATIONS = 100, 10, 5, 30, 100, 5, 10
EPSILONS = (1.0, 10.0)
PROPER = "private forest, discrete Laplace"


def main():
    use_all_cores()
    table, labels = compas()
    rows = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(table))
        known, others = order[:ROWS], order[ROWS:]
        public = marginals(table.iloc[others])
        for forest, epsilon, models, arguments in targets(table.iloc[known], labels[known], rng):
            alone = f"{SOME} trees" in forest or forest == PROPER
            priors = {"none": None} | ({} if alone else {"uniform": {}, "marginals": public})
            for prior, given in priors.items():
                result = reconstruct(models, SCHEMA, prior=given, seconds=60, **arguments)
                run = {"forest": forest, "epsilon": epsilon, "prior": prior, "seed": seed}
                rows.append(run | measured(result, table, known, others, rng))
                print(rows[-1], flush=True)
    report("forests", rows)


def measured(found, table, known, others, rng):
    samples = [table.iloc[rng.choice(others, ROWS, replace=False)] for _ in range(POPULATIONS)]
    own = table.iloc[known]
    elsewhere = [found.error(sample, one_hot=True) for sample in samples]
    without = [GuessedTable.of_rows(sample, SCHEMA).error(own, one_hot=True) for sample in samples]
    return {
        "error": f"{found.error(own, one_hot=True):.4f}",
        "about others": f"{np.mean(elsewhere):.4f}",
        "others as a guess": f"{np.mean(without):.4f}",
        "status": found.status,
        "gap": f"{found.gap:.3f}",
        "seconds": f"{found.seconds:.1f}",
    }


def targets(table, labels, rng):
    """Yield models of a table, with the input of the attack."""
    bits = one_hot(table)
    seed = int(rng.integers(2**31))
    for kind, trees, depth, bootstrap in (
        (RandomForestClassifier, TREES, DEPTH, False),
        (ExtraTreesClassifier, TREES, DEPTH, False),
        (RandomForestClassifier, TREES, DEPTH, True),
        (RandomForestClassifier, MANY, None, False),
        (RandomForestClassifier, SOME, None, True),
    ):
        forest = kind(trees, max_depth=depth, bootstrap=bootstrap, random_state=seed).fit(bits, labels)
        sample = "bootstrap samples" if bootstrap else "all rows"
        shape = f"{trees} trees of any depth" if depth is None else f"{trees} trees of depth {depth}"
        yield f"{kind.__name__}, {shape}, {sample}", "", forest, {"features": COLUMNS}
    for epsilon in EPSILONS:
        trees = [private_tree(bits, labels, epsilon / TREES, rng, cut_noise) for _ in range(TREES)]
        yield "private forest", epsilon, trees, {"rows": ROWS, "noise": TREES / epsilon}
    for epsilon in EPSILONS:
        for name, learner in (
            (
                "PrivateTreeClassifier",
                hr.PrivateTreeClassifier(epsilon, max_depth=3, schema=SCHEMA, release_counts=True),
            ),
            ("PrivateRuleListClassifier", hr.PrivateRuleListClassifier(epsilon, schema=SCHEMA, release_counts=True)),
        ):
            model = learner.fit(table, labels)
            yield name, epsilon, model, {"rows": ROWS, "noise": 1 / epsilon_of_counts(model.privacy_)}
    for epsilon in EPSILONS:
        trees = [private_tree(bits, labels, epsilon / TREES, rng, whole_noise) for _ in range(TREES)]
        yield PROPER, epsilon, trees, {"rows": ROWS, "noise": TREES / epsilon}


def cut_noise(rng, epsilon):
    """Return the noise of two counts as the published code draws it, which does not satisfy ε."""
    return np.trunc(rng.laplace(scale=1 / epsilon, size=2)).astype(int)


def whole_noise(rng, epsilon):
    """Return discrete Laplace noise of two counts."""
    first, second = rng.geometric(-np.expm1(-epsilon), size=(2, 2))
    return first - second


def epsilon_of_counts(card):
    """Return the ε of the released counts, from the card; a row changes a single count by one."""
    return float(sum(charge.epsilon for charge in card.charges if charge.query.code == "leaf_counts"))


def private_tree(bits, labels, epsilon, rng, noise_of):
    """Return a tree as diffprivlib grows it: random splits, which no row decides, and noisy class counts of leaves."""
    paths, counts = [], []

    def grow(low, high, path, here):
        if len(path) == DEPTH:
            paths.append(tuple((COLUMNS[j], is_one) for j, is_one in path))
            noise = noise_of(rng, epsilon)
            counts.append(tuple(int((labels[here] == c).sum()) + int(n) for c, n in enumerate(noise)))
            return
        column = int(rng.integers(len(COLUMNS)))
        threshold = rng.uniform(low[column], high[column])
        above = bits[:, column] > threshold
        less, more = high.copy(), low.copy()
        less[column] = more[column] = threshold
        grow(low, less, [*path, (column, False)], here & ~above)
        grow(more, high, [*path, (column, True)], here & above)

    width = len(COLUMNS)
    grow(np.zeros(width), np.ones(width), [], np.ones(len(bits), dtype=bool))
    return Paths(tuple(paths), counts=tuple(counts), classes=(False, True), view="noisy", exclusive=True)


def marginals(table):
    """Return the shares of each attribute's bins among rows that are not attacked."""
    shares = {}
    for name, values in VALUES.items():
        shares[name] = [float((table[name] == value).mean()) for value in values]
    return shares


if __name__ == "__main__":
    main()
