"""Three data holders compared with a single data holder.

The logistic model from a single question (rows of each class by bin), 20 runs. A fifth of the table is the public
source; the rest is split among three data holders who answer over HTTP. This is compared with three oracles in one
process, and with a single oracle for the whole table. Adult at ε = 0.1, CTG at ε = 1:

{federation}

The location of the rows does not matter: the accuracies over HTTP and in one process have the same distribution
(Kolmogorov-Smirnov, p = {federation_p}). Splitting the rows into three tables triples the variance of the noise. A
question is about {bytes_sent} bytes on Adult, and its answer with the card {bytes_received}.

    python federation.py [adult ctg] --runs 20
"""

import argparse
import tempfile
import threading
import time
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import uvicorn
from measure import RESULTS, recorded
from scipy.stats import ks_2samp

import hedgerow as hr
from hedgerow.privacy.account import Account
from hedgerow.service.app import create_app
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.jobs import Jobs
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.rows import FrameRows

EPSILON = {"adult": Fraction(1, 10), "ctg": Fraction(1)}
RAW = RESULTS / "federation_runs.csv"
COLUMNS = ["table", "run", "how", "accuracy", "seconds", "bytes sent", "bytes received"]


def curators(stack, parts, data):
    """Serve each part, and return a connection for each analyst."""
    for frame, labels in parts:
        url = f"sqlite:///{Path(stack.enter_context(tempfile.TemporaryDirectory())) / 'ledger.db'}"
        ledger, keys = stack.enter_context(Ledger(url, new_ledger=True)), stack.enter_context(Keys(url))
        cap = Account(EPSILON[data.name])
        ledger.declare("rows", cap, {"ana": cap}, reason="a study")
        curator = Curator(ledger, {"rows": HostedDataset(data.schema, FrameRows.of(frame, labels, data.schema))})
        app = create_app(curator, keys.caller, Jobs(curator))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
        threading.Thread(target=server.run, daemon=True).start()
        while not server.started:
            time.sleep(0.01)
        stack.callback(setattr, server, "should_exit", True)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield stack.enter_context(hr.connect(f"http://127.0.0.1:{port}", key=keys.add("ana", "analyst")))


def counted(remote):
    """Count the bytes of a connection's questions and answers."""
    client, sums = remote._connection._client, [0, 0]
    client.event_hooks["request"].append(lambda request: sums.__setitem__(0, sums[0] + len(request.content)))
    client.event_hooks["response"].append(lambda r: sums.__setitem__(1, sums[1] + len(r.read())))
    return sums


def runs(data, run):
    """Yield the accuracy of each way, with the cost of a question."""
    order = np.random.default_rng(run).permutation(len(data.frame))
    source, *private = np.array_split(order, [len(order) // 5, len(order) // 2, 3 * len(order) // 4])
    names = list(data.schema.names)
    X, y, epsilon = data.frame[names], data.labels, EPSILON[data.name]
    parts = [(X.iloc[part], y.iloc[part]) for part in private]
    rest = np.concatenate(private)

    def inside(frame, labels):
        return hr.Oracle(frame, labels, hr.Budget(epsilon), 1, classes=data.schema.classes)

    with ExitStack() as stack:
        remote = list(curators(stack, parts, data))
        oracles = {
            "three curators, HTTP": hr.oracle.FederatedOracle([item.oracle(1, epsilon=epsilon) for item in remote]),
            "three oracles, one process": hr.oracle.FederatedOracle([inside(*part) for part in parts]),
            "one oracle, pooled": inside(X.iloc[rest], y.iloc[rest]),
        }
        sums = [counted(item) for item in remote]
        for how, oracle in oracles.items():
            began = time.perf_counter()
            model = hr.MarginalLogisticClassifier().fit(X.iloc[source], oracle=oracle)
            taken = time.perf_counter() - began
            sent, received = np.mean(sums, axis=0) if "HTTP" in how else (0, 0)
            accuracy = model.score(X.iloc[rest], y.iloc[rest])
            yield dict(zip(COLUMNS, [data.name, run, how, accuracy, taken, sent, received], strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", default=list(EPSILON))
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    done = recorded(RAW, COLUMNS)
    for name in arguments.tables:
        data = hr.datasets.load(name)
        for run in range(arguments.runs):
            if not ((done["table"] == name) & (done["run"] == run)).any():
                rows = pd.DataFrame(list(runs(data, run)), columns=COLUMNS)
                rows.to_csv(RAW, mode="a", header=not RAW.exists(), index=False, lineterminator="\n")
                print(name, run, flush=True)
    found = recorded(RAW, COLUMNS)
    table = found.groupby(["table", "how"], sort=False).agg(
        runs=("run", "size"),
        accuracy=("accuracy", "mean"),
        deviation=("accuracy", "std"),
        seconds=("seconds", "median"),
        sent=("bytes sent", "median"),
        received=("bytes received", "median"),
    )
    for name in found["table"].unique():
        by = found[found["table"] == name].groupby("how")["accuracy"]
        outside, inside = by.get_group("three curators, HTTP"), by.get_group("three oracles, one process")
        table.loc[(name, "three curators, HTTP"), "p (KS)"] = ks_2samp(outside, inside).pvalue
    table = table.round(4)
    table.to_csv(RESULTS / "federation.csv", lineterminator="\n")
    print(table.to_string())
