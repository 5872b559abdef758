"""Reads what the test wrote with the official messages for Python, and prints everything that is in them.

    decode.py FOLDER      FOLDER/NAME.pb, and FOLDER/NAME.json: the same message as OTLP's JSON
"""

import base64
import json
import pathlib
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def ids(value, convert):
    """A copy of JSON with other ids."""
    if isinstance(value, list):
        return [ids(item, convert) for item in value]
    if isinstance(value, dict):
        return {key: convert(key, item) if key in IDS else ids(item, convert) for key, item in value.items()}
    return value


def to_hex(key, text):
    raw = base64.b64decode(text)
    assert len(raw) == IDS[key], (key, raw)
    return raw.hex()


def from_hex(key, text):
    assert len(text) == 2 * IDS[key], (key, text)
    return base64.b64encode(bytes.fromhex(text)).decode()


def main():
    printed = {}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pb")):
        kind = ExportMetricsServiceRequest if path.stem.startswith("metrics") else ExportTraceServiceRequest
        body = path.read_bytes()
        message = kind.FromString(body)
        assert message.SerializeToString(deterministic=True) == body, f"{path.name}: there is more in it"
        ours = json.loads(path.with_suffix(".json").read_text())
        # Unknown fields are errors here.
        parsed = json_format.ParseDict(ids(ours, from_hex), kind())
        assert parsed == message, f"{path.name}: JSON and protobuf differ"
        printed[path.stem] = ids(json_format.MessageToDict(message), to_hex)
    print(json.dumps(printed, indent=1, ensure_ascii=False))


main()
