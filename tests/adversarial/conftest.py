from tests.engines.conftest import load  # noqa: F401 -- a fixture
