"""The published shapes of the data sets."""

SHAPES = {  # rows, feature columns; from the README of the data folder
    "adult": (48_842, 14),
    "adult_binary": (48_842, 24),
    "breast_cancer": (569, 30),
    "compas": (7_214, 14),
    "compas_binary": (7_214, 27),
    "ctg": (2_126, 21),
    "german": (1_000, 20),
    "german_binary": (1_000, 60),
}
