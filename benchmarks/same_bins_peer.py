"""Private learners of others on one split, for same_bins.py: run by an interpreter that has them, without hedgerow.

Takes the name of a learner, the folder of its code, a file with the bins of training and test rows, the labels, the
number of bins of each column and which columns are ordered; values of ε, δ and a seed. Every learner is its authors'
own code; only the cut points that it would choose are replaced by those given. Prints, as JSON, a line for each setting
and ε: ε, the setting, seconds of the processor, and the chances of the test rows.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

EVERY = (0, np.inf)
"""From which to which rows × ε a setting is tried; on COMPAS it was behind others of the learner beyond them."""


class Split:
    """Bins 0, 1, … of training and test rows, labels 0 and 1, and what is public of the columns."""

    def __init__(self, file, delta, seed):
        data = np.load(file)
        self.X, self.X_test, self.y = data["X"], data["X_test"], data["y"]
        self.sizes, self.ordered, self.seed = data["sizes"].tolist(), data["ordered"].tolist(), seed
        self.delta = delta


def s_bdt(folder, split):
    """Gaussian noise on leaves of random trees of one attribute; settings near the best of the authors' search."""
    sys.path.insert(0, str(folder / "code"))
    os.chdir(folder / "code")  # where it looks for its library
    import sbdt

    top, columns = 100.0, list(zip(split.ordered, split.sizes, strict=True))
    scale = top / np.maximum(np.array(split.sizes) - 1.0, 1.0) * np.array(split.ordered) + ~np.array(split.ordered)
    X, X_test = (np.ascontiguousarray(codes * scale) for codes in (split.X, split.X_test))
    common = {
        "learning_rate": 0.1, "newton_boosting": True, "balance_partition": True, "lambda_reg_mode": 1,
        "reg_delta": 2.0, "min_samples_split": 0, "ignore_split_constraints": True, "max_features": 0,
        "max_feature_values": 0, "criterion": 0, "reuse_attr": True, "use_dp": True,
        "privacy_budget_init_score_ratio": 0.0, "privacy_budget_gain_ratio": 0.5, "hess_l2_threshold": 0.1,
        "init_score_threshold": 1.0, "numeric_feature_weight": 1.0, "leaf_noise": 1, "use_privacy_filter": False,
        "approximate_privacy_filter": False, "pf_additional_nb_trees": 0, "pf_l2_threshold": 0.1,
        "pf_hess_l2_threshold": 1.0, "pf_subsampling_ratio_factor": 1.0, "additional_nb_trees": 0,
        "refine_splits_rounds": 0, "num_split_candidates": 32, "gradient_filtering": False, "leaf_clipping": False,
        "cyclical_feature_interactions": True, "refine_splits": False, "random_splits_from_candidates": False,
        "refine_splits_subsample": 1.0, "cut_off_leaf_denom": True, "custom_noise_scale": -1.0, "verbosity": 4,
        "task": "BinaryClassification", "feature_val_border": (0.0, top), "continuous_learning": False,
        "scale_y": False, "cat_idx": [i for i, item in enumerate(split.ordered) if not item],
        "num_idx": [i for i, item in enumerate(split.ordered) if item],
        "cat_values": [[] if item else list(map(float, range(k))) for item, k in columns],
    }  # fmt: skip

    def fit(epsilon, trees, depth, clip, sampled, ridge, denominator):
        model = sbdt.S_BDT(
            nb_trees=trees,
            max_depth=depth,
            l2_threshold=clip,
            subsampling_ratio=sampled,
            l2_lambda=ridge,
            leaf_denom_noise_weight=denominator,
            privacy_budget=epsilon,
            **common,
        )
        model.train(X, split.y.astype(float), "table")
        return expit(model.predict(X_test))

    grid = (
        ((0, 2e3), (25, 5, 0.5, 1.0, 10.0, 0.1)),
        ((0, 5e3), (50, 5, 0.5, 1.0, 10.0, 0.1)),
        ((5e2, 2e4), (100, 6, 0.3, 1.0, 10.0, 0.1)),
        ((2e3, np.inf), (400, 5, 0.5, 0.1, 10.0, 0.1)),
        ((2e3, np.inf), (200, 6, 0.8, 1.0, 5.0, 0.04)),
        ((2e4, np.inf), (400, 6, 0.8, 1.0, 1.0, 0.04)),
    )
    for within, item in grid:
        setting = "{}x{}, clip {:g}, sample {:g}, ridge {:g}".format(*item)
        yield setting, within, lambda e, item=item: fit(e, *item)


def newton(folder, split):
    """Random trees of one attribute in turn and Newton's steps; the Gaussian noise is that of (ε, 1e-5), not 1/rows."""
    sys.path.insert(0, str(folder))
    from federated_gbdt.models.gbdt.private_gbdt import PrivateGBDT

    def fit(epsilon, **settings):
        model = PrivateGBDT(
            epsilon=epsilon,
            dp_method="gaussian_cdp",
            accounting_method="rdp_scaled_improved",
            split_method="totally_random",
            weight_update_method="xgboost",
            gradient_budgets="vector_mechanism",
            feature_interaction_method="cyclical",
            feature_interaction_k=1,
            sketch_type="uniform",
            track_budget=False,
            **settings,
        )
        cuts = [np.arange(max(size - 1, 1)) + 0.5 for size in split.sizes]
        model.split_candidate_manager.find_split_candidates = lambda *_, **__: None
        model.split_candidate_manager.feature_split_candidates = cuts
        assign = model.privacy_accountant.assign_budget
        model.privacy_accountant.assign_budget = lambda e, _, **rest: assign(e, split.delta, **rest)
        return model.fit(split.X.astype(float), split.y).predict_prob(split.X_test.astype(float))[:, 1]

    np.random.seed(split.seed)  # noqa: NPY002 -- the generator that its code draws from
    grid = (
        ((0, 2e3), 25, 2),
        ((0, 5e3), 50, 2),
        ((5e2, 2e4), 50, 4),
        ((2e3, np.inf), 100, 4),
        ((5e3, np.inf), 200, 4),
        ((2e4, np.inf), 400, 4),
    )
    for within, trees, depth in grid:
        yield f"{trees}x{depth}", within, lambda e, d=depth, t=trees: fit(e, num_trees=t, max_depth=d)


def privatree(folder, split):
    """One tree, pure ε, whose leaves are classes."""
    sys.path.insert(0, str(folder))
    from privatree import privatree

    class Given(privatree.PrivateBinner):
        def fit(self, X, y):
            super().fit(X, y)
            self.n_bins_ = split.sizes
            self.feature_to_bin_info_ = [
                np.arange(size) if item else None for item, size in zip(ordered, split.sizes, strict=True)
            ]
            return self

    ordered = split.ordered
    privatree.PrivateBinner = Given

    def fit(epsilon, depth):
        model = privatree.PrivaTreeClassifier(
            max_depth=depth,
            epsilon=epsilon,
            feature_range=np.array([(0.0, float(size)) for size in split.sizes]),
            categorical_features=np.array(
                [0 if item else size for item, size in zip(ordered, split.sizes, strict=True)]
            ),
            random_state=split.seed,
        )
        return model.fit(split.X, split.y).predict_proba(split.X_test)[:, 1]

    for depth in (2, 3, 4):
        yield f"depth {depth}", EVERY, lambda e, d=depth: fit(e, d)


def dp_ebm(_, split):
    """Explainable boosting of interpret-core, its defaults: bins as names, or as numbers where they are ordered."""
    from interpret.privacy import DPExplainableBoostingClassifier

    def fit(epsilon, named, rounds):
        continuous = [
            continuou and size > 2 and not named for continuou, size in zip(split.ordered, split.sizes, strict=True)
        ]
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon,
            delta=split.delta,
            feature_types=["continuous" if continuou else "nominal" for continuou in continuous],
            privacy_bounds={i: (0.0, split.sizes[i] - 1.0) for i, continuou in enumerate(continuous) if continuou},
            max_rounds=rounds,
            random_state=split.seed,
            n_jobs=1,
        )
        X, X_test = (columns(codes, continuous) for codes in (split.X, split.X_test))
        return model.fit(X, split.y).predict_proba(X_test)[:, 1]

    def columns(codes, continuous):
        import pandas as pd

        return pd.DataFrame(
            {str(i): codes[:, i].astype(float if continuou else str) for i, continuou in enumerate(continuous)}
        )

    for named, rounds in ((True, 300), (False, 300), (False, 100)):
        yield f"{'names' if named else 'numbers'}, {rounds} rounds", EVERY, lambda e, n=named, r=rounds: fit(e, n, r)


LEARNERS = {"S-BDT": s_bdt, "DP-TR-Newton EBM": newton, "PrivaTree": privatree, "DP-EBM": dp_ebm}


def expit(scores):
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))


def main():
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # times are those of the processor, on whichever core
    name, folder, file, epsilons, delta, seed = sys.argv[1:]
    out, sys.stdout = sys.stdout, sys.stderr  # some learners print
    split = Split(file, float(delta), int(seed))
    for setting, (least, most), fit in LEARNERS[name](Path(folder), split):
        for epsilon in map(float, epsilons.split(",")):
            if not least <= epsilon * len(split.y) <= most:
                continue
            start = time.process_time()
            chances = fit(epsilon)
            seconds = round(time.process_time() - start, 3)
            print(json.dumps((epsilon, setting, seconds, np.round(chances, 6).tolist())), file=out, flush=True)


if __name__ == "__main__":
    main()
