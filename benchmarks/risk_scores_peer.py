"""What FasterRisk reaches on one split, for risk_scores.py: run by an interpreter that has it, without hedgerow.

Takes a file with training and test rows as columns of 0 and 1, labels, and the attribute of each column; and the number
of columns, that of attributes (0: any), and the largest points. Prints, as JSON, the chances of the test rows, how many
columns and attributes are used, the points of each column, and seconds.
"""

import json
import sys
import time

import numpy as np
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer


def main():
    file, k, groups, points = sys.argv[1], *map(int, sys.argv[2:])
    data = np.load(file)
    sizes = {"group_sparsity": groups, "featureIndex_to_groupIndex": data["attributes"].astype(int)} if groups else {}
    start = time.perf_counter()
    search = RiskScoreOptimizer(data["X"].astype(float), 2.0 * data["y"] - 1, k=k, lb=-points, ub=points, **sizes)
    search.optimize()
    multiplier, intercept, columns = search.get_models(model_index=0)
    seconds = time.perf_counter() - start
    chances = RiskScoreClassifier(multiplier, intercept, columns).predict_prob(data["X_test"].astype(float))
    used = np.flatnonzero(columns)
    result = {"terms": len(used), "attributes": len(set(data["attributes"][used].tolist())), "seconds": seconds}
    result["points"] = np.asarray(columns).round().astype(int).tolist()
    print(json.dumps(result | {"chances": chances.tolist()}))


if __name__ == "__main__":
    main()
