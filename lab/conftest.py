"""Settings of the tests of the lab: those of the other tests."""

from tests import conftest  # noqa: F401 -- loads the profile of Hypothesis
