"""The vectors of records: what each site makes of what the arrays say, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.iscsi.pdu import Sender
from proxy.iscsi.prediction import Predictor, Restorer
from tests.unit.iscsi.sites import Direction, Pair, byte_of

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "iscsi.json").read_text())["connections"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_there(vector: dict[str, Any]) -> None:
    """Cut into records and payload, with addresses; predicted."""
    pair = Pair()
    predictors = {sender: Predictor() for sender in Sender}
    for step in vector["steps"]:
        sender = Sender(step["sender"])
        direction = pair.direction(sender)
        direction.send(bytes.fromhex(step["bytes"]))
        spans, direction.spans = direction.spans, []
        places = [None if span.address is None else byte_of(span.address) for span in spans]
        payload = [[span.data.hex(), byte] for span, byte in zip(spans, places, strict=True) if span.is_payload]
        records = [bytes(span.data) for span in spans if not span.is_payload]
        assert payload == step["payload"]
        assert [record.hex() for record in records] == step["records"]
        assert b"".join(map(predictors[sender].predict, records)).hex() == step["section"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_and_back(vector: dict[str, Any]) -> None:
    """Woven from sections and payload alone."""
    pair = Pair()
    restorers = {sender: Restorer() for sender in Sender}
    for step in vector["steps"]:
        sender = Sender(step["sender"])
        records = restorers[sender].restore(bytes.fromhex(step["section"]), 1 << 20)
        assert [record.hex() for record in records] == step["records"]
        assert woven(pair.direction(sender), records, step["payload"]).hex() == step["bytes"]


def woven(direction: Direction, records: list[bytes], payload: list[tuple[str, int]]) -> bytes:
    direction.weaver.records(records)
    for data, _ in payload:
        direction.weaver.payload([memoryview(bytes.fromhex(data))])
    return b"".join(direction.weaver.take(0.0))
