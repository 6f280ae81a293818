"""Settings of the tests of the lab: those of the other tests, which load the profile of Hypothesis."""

from tests import conftest

__all__ = ["conftest"]
