"""Ask a curator three questions from another process: a tree, a scorecard from marginals, and the tree's errors.

hedgerow serve --demo --port 8765 > ready.json &
python examples/ask_curator.py ready.json
"""

import json
import sys
import time
from pathlib import Path

import hedgerow as hr

path = Path(sys.argv[1])
while not path.exists() or not path.read_text().endswith("\n"):  # the service prints one line when it is ready
    time.sleep(0.1)
ready = json.loads(path.read_text())

with hr.connect(ready["url"], key=ready["analyst_key"]) as curator:
    public = hr.datasets.load("breast_cancer").frame[list(curator.schema.names)]  # stands in for a public source

    tree = curator.fit(hr.PrivateTreeClassifier(epsilon=1, max_depth=2))
    print(tree, "\n")

    oracle = curator.oracle(max_queries=2, epsilon=2)
    scorecard = hr.MarginalLogisticClassifier(reweight=False).fit(public, oracle=oracle)
    print(f"a scorecard from one answer, {scorecard.privacy_.headline}")

    bins = hr.oracle.choose_bins(public[["worst radius", "worst concave points"]], 4)
    errors = oracle.error_marginals(bins, tree)
    print(f"the tree errs on about {errors.error_rate:.0%} of the curator's {errors.n_rows:.0f} rows")
    print(f"spent: epsilon {curator.budget['epsilon']['spent']} of {curator.budget['epsilon']['cap']}")
