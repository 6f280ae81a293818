"""Of the OpenAPI file alone: clients are generated, and requests, good and bad, meet no failure, no private value."""

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from hedgerow.service.forms import FORMS
from tests.peers import peer
from tests.service.wards import MARGINALS
from tests.service.web import running, web


def test_operations_and_schemas_have_names_and_references_lead_somewhere(tmp_path):
    with web(tmp_path) as service:
        result = service.client("").get("/openapi.json").json()
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    names = {operation["operationId"] for operation in operations}
    assert {*(kind.replace("-", "_") for kind in FORMS), "cost", "budget"} < names
    assert len(names) == len(operations)
    for path in FORMS:
        (key,) = [
            operation
            for operation in result["paths"][f"/v1/datasets/{{dataset}}/{path}"]["post"]["parameters"]
            if operation["name"] == "Idempotency-Key"
        ]
        assert (key["required"], key["schema"]["maxLength"]) == (True, 200)
    assert set(result["paths"]["/v1/jobs/{job}/events"]["get"]["responses"]["200"]["content"]) == {"text/event-stream"}
    assert all({"404", "405"} <= set(operation["responses"]) for operation in operations)
    text = json.dumps(result)
    assert text.count('"#/components/schemas/') == text.count('"$ref": "#/components/schemas/') > 20
    referred = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert referred == set(result["components"]["schemas"])


ASKING = """
import json, sys
from hedgerow_client import AuthenticatedClient
from hedgerow_client.api.default import budget, cost, marginals
from hedgerow_client.models import Marginals, MarginalsCost, Problem

url, key, body = sys.argv[1:]
asked = json.loads(body)
client = AuthenticatedClient(url, key)
told = cost.sync("wards", client=client, body=MarginalsCost.from_dict({"question": "marginals", **asked}))
question = Marginals.from_dict(asked)
answers = [marginals.sync("wards", client=client, body=question, idempotency_key="one") for _ in range(2)]
dear = Marginals.from_dict({**asked, "epsilon": "9"})
refused = marginals.sync("wards", client=client, body=dear, idempotency_key="two")
assert isinstance(refused, Problem)
spent = budget.sync("wards", client=client)
print(json.dumps([told.to_dict(), *answers, refused.title, refused.charged, spent.to_dict()]))
"""


@pytest.mark.peers("openapi_python_client")
def test_a_client_that_is_generated_of_the_file_asks(tmp_path):
    with running(tmp_path) as service:
        (tmp_path / "openapi.json").write_text(json.dumps(service.app.openapi()))
        generate = ["openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"]
        subprocess.run(
            [sys.executable, "-m", *generate, "--output-path", "hedgerow_client"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        ask = [sys.executable, "-c", ASKING, service.url, service.tokens["ana"], MARGINALS.decode()]
        done = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told, first, again, title, charged, spent = json.loads(done.stdout)
        assert (told["epsilon"], told["allowed"]) == ("1/4", True)
        assert first == again
        assert first["dataset"] == "wards"
        assert (title, charged) == ("The remaining privacy budget is too small", False)
        assert spent["epsilon"]["spent"] == "1/4"


@pytest.mark.peers("schemathesis")
@pytest.mark.filterwarnings("ignore")
def test_requests_of_any_make_meet_no_failure(tmp_path):
    schemathesis = peer("schemathesis")
    asked = []
    with web(tmp_path) as service:
        schema = schemathesis.openapi.from_asgi("/openapi.json", service.app)
        for result in schema.get_all_operations():
            operation = result.ok()

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
