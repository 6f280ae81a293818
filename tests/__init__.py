"""The tests. pytest-xdist has a worker a core: libraries are told, before they are loaded, to use one thread each."""

import os

for _library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
