"""How candidates are counted.

800 candidates, two classes. *Gram*: hedgerow's method, a product `Rᵀ diag(w) R` of the one-hot pattern matrix per
class, mapped from bins to literals by a public linear map. *Bit sets*: literals as packed bits, weights cut into binary
planes, ones counted. *Masks*: a boolean mask per candidate.

{counting}

![time against patterns](results/counting.png)

The Gram products are fastest from 10² to 10⁷ patterns, with a larger margin for numbers with many cut points, because
there are fewer bins than literals. Bit sets come close with many patterns and small counts (few binary planes); their
cost is per candidate, while the cost of the product is per pair of bins. Real tables have 10² to 10⁵ patterns.
Therefore hedgerow uses only Gram products.
"""

import numpy as np
from measure import RESULTS, median_seconds, report

import hedgerow as hr
from hedgerow.schema import Boolean, Candidates, Label, Schema

SCHEMA = Schema({f"x{i}": Boolean() for i in range(20)}, Label("y", (0, 1)))
CANDIDATES = Candidates.of(SCHEMA, 2)


def bit_sets(cells, counts):
    """Return class counts by ANDing bit sets; weights are cut into binary planes, and each plane's ones counted."""
    items = [cells[:, i] == 1 for i in range(cells.shape[1])]
    literals = np.array([pack(column if value else ~column) for column in items for value in (True, False)])
    planes = [
        (k, b, pack((counts[:, k] >> b) & 1))
        for k in range(counts.shape[1])
        for b in range(int(counts.max()).bit_length())
    ]
    result = np.zeros((len(CANDIDATES), counts.shape[1]), dtype=np.int64)
    start = 0
    for members in CANDIDATES.members:
        for i, member in enumerate(members, start):
            both = np.bitwise_and.reduce(literals[member], axis=0)
            for k, b, plane in planes:
                result[i, k] += int(np.bitwise_count(both & plane).sum()) << b
        start += len(members)
    return result


def pack(bits):
    bits = np.packbits(np.asarray(bits, dtype=bool))
    return np.pad(bits, (0, -len(bits) % 8)).view(np.uint64)


def masks(cells, counts):
    """Return class counts by one boolean mask over the patterns for each candidate."""
    tally = hr.Tally(SCHEMA, cells, counts)
    return np.array([counts[tally._satisfies(antecedent)].sum(axis=0) for antecedent in CANDIDATES])


def main():
    rng = np.random.default_rng(0)
    rows = []
    for exponent in range(2, 8):
        n = 10**exponent
        cells = (rng.random((n, 20)) < 0.3).astype(np.uint8)
        counts = rng.geometric(0.2, (n, 2)) - 1
        tally = hr.Tally(SCHEMA, cells, counts)
        gram = tally.class_counts(CANDIDATES)
        repeats = 9 if n <= 10**5 else 3
        seconds = median_seconds(lambda t=tally: t.class_counts(CANDIDATES), repeats)
        row = {"patterns": n, "gram ms": f"{1e3 * seconds:.2f}"}
        for name, twin in (("bit sets", bit_sets), ("masks", masks)):
            if name == "masks" and n > 10**6:
                row |= {f"{name} ms": "", f"{name} / gram": ""}
                continue
            assert (twin(cells, counts) == gram).all()
            seconds = median_seconds(lambda t=twin, c=cells, w=counts: t(c, w), 3)
            ratio = 1e3 * seconds / float(row["gram ms"])
            row |= {f"{name} ms": f"{1e3 * seconds:.2f}", f"{name} / gram": f"{ratio:.1f}"}
        rows.append(row)
        print(row, flush=True)
    report("counting", rows)
    draw(rows)


def draw(rows):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, marker in (("gram", "o"), ("bit sets", "s"), ("masks", "^")):
        points = [(row["patterns"], float(row[f"{name} ms"])) for row in rows if row[f"{name} ms"]]
        ax.loglog(*zip(*points, strict=True), marker=marker, label=name)
    ax.set(xlabel="patterns", ylabel="milliseconds, one core", title="class counts of 800 candidates")
    ax.legend(frameon=False)
    ax.figure.savefig(RESULTS / "counting.png", dpi=120)


if __name__ == "__main__":
    main()
