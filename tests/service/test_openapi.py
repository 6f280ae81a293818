"""Requests made of the OpenAPI file alone, good and bad, meet no failure of the service and no private value."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.peers import peer
from tests.service.web import web


@pytest.mark.peers("schemathesis")
@pytest.mark.filterwarnings("ignore")
def test_requests_of_any_make_meet_no_failure(tmp_path):
    schemathesis = peer("schemathesis")
    asked = []
    with web(tmp_path) as service:
        schema = schemathesis.openapi.from_asgi("/openapi.json", service.app)
        for found in schema.get_all_operations():
            operation = found.ok()

            @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
            @given(operation.as_strategy())
            def ask(case):
                case.headers = {**(case.headers or {}), "Authorization": f"Bearer {service.tokens['ana']}"}
                response = case.call()
                asked.append(case.method)
                assert response.status_code < 500
                assert "CANARY" not in response.text

            ask()
        service.curator.ledger.verify()
    assert len(asked) > 100
