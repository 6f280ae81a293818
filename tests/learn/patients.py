"""Patients, whose age and smoking add up to the log-odds of being ill, and tables of them that tell little or all."""

import numpy as np
import pandas as pd

import hedgerow as hr

LABEL = hr.Label("ill", (0, 1))
PATIENTS = hr.Schema(
    {
        "age": hr.Integer(0, 99, cuts=(20, 40, 60, 80), missing="bin"),
        "dose": hr.Real(0.0, 1.0, cuts=(0.25, 0.5, 0.75), outside="bin"),
        "smoker": hr.Boolean(),
    },
    LABEL,
)


def patients(n=2000, seed=0):
    """Return a table in which age and smoking add up to the log-odds, and the dose does nothing."""
    rng = np.random.default_rng(seed)
    age, smoker = rng.integers(0, 100, n).astype(float), rng.integers(0, 2, n)
    chance = 1 / (1 + np.exp(-(age - 50) / 12 - 1.5 * smoker + 1))
    data = pd.DataFrame({"age": age, "dose": rng.random(n), "smoker": smoker, "ill": rng.random(n) < chance})
    data.loc[rng.random(n) < 0.05, "age"] = np.nan
    return data.astype({"ill": int})


HARD = {
    "no rows": lambda data: data.iloc[:0],
    "one row": lambda data: data.iloc[:1],
    "one class": lambda data: data[data["ill"] == 0],
    "the other class": lambda data: data[data["ill"] == 1],
    "a constant column": lambda data: data.assign(dose=0.1),
    "constant columns": lambda data: data.assign(dose=0.1, age=5.0, smoker=0),
    "missing everywhere": lambda data: data.assign(age=np.nan),
    "told without error": lambda data: data.assign(ill=data["smoker"]),
}
