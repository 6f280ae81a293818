"""Where the real datasets are."""

import os
from pathlib import Path

import pytest


def needs(name):
    """Skip a test, saying so, where the file of a dataset is not to be had."""
    return pytest.mark.skipif(
        not (Path(os.environ.get("HEDGEROW_DATA", "")) / f"{name}.csv").is_file(),
        reason=f"HEDGEROW_DATA is not set to a folder with {name}.csv",
    )
