"""Somebody between the client and a real curator, who changes answers."""

import hashlib
import json

import httpx2
import jwt

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.service.app import problem_of
from hedgerow.service.curator import Answer
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Request
from tests.service.wards import ANA

SIGNER = Signer.new()


class Between:
    """Passes questions on to a curator, and changes what comes back."""

    def __init__(self, curator):
        self.curator, self.body, self.receipt, self.public = curator, dict, str, dict
        self.keys, self.stored = [], b""

    def answering(self, request):
        path = request.url.path
        if path == "/v1/datasets":
            return httpx2.Response(200, json=["wards"])
        if path == "/v1/datasets/wards":
            return httpx2.Response(200, json=self.public(self.curator.describe(ANA, "wards")))
        if path.endswith("/answer"):
            return self.sent(self.stored)
        self.keys.append(request.headers["Idempotency-Key"])
        kind = path.rpartition("/")[2]
        key = request.headers["Idempotency-Key"]
        try:
            stored = self.stored = self.curator.ask(Request(ANA, "wards", kind, key, request.content)).content
        except HedgerowError as error:
            problem = problem_of(error)
            return httpx2.Response(problem.status, json=problem.to_dict())
        if kind == "fits":
            return httpx2.Response(202, json={"job": "1", "state": "answered"})
        return self.sent(stored)

    def sent(self, content):
        """Return the answer, changed, with the receipt of the one that it was."""
        answer = Answer.read(content)
        body = json.dumps(self.body(json.loads(answer.body)), separators=(",", ":")).encode()
        receipt = self.receipt(self.signed(answer, body))
        return httpx2.Response(200, content=body, headers={"Hedgerow-Receipt": receipt} if receipt else {})

    def signed(self, answer, body):
        """Sign whatever is sent, as a curator can who lies."""
        said = jwt.decode(answer.receipt, options={"verify_signature": False})
        model = json.loads(body).get("model") if body != b"[]" else None
        digest = model.get("digest") if isinstance(model, dict) else None
        return SIGNER.sign(said | {"answer": hashlib.sha256(body).hexdigest(), "model": digest})


def connected(public_key=SIGNER.public):
    return hr.connect("https://curator.example", key="hr_x", public_key=public_key)["wards"]
