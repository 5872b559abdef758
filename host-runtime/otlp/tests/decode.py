"""Reads what the test wrote with the official messages for Python, and prints everything that is in them.

    decode.py FOLDER      FOLDER/NAME.pb, and FOLDER/NAME.json: the same message as OTLP's JSON
"""

import base64
import json
import pathlib
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8, "profileId": 16}
KINDS = {"metrics": ExportMetricsServiceRequest, "profiles": ExportProfilesServiceRequest}


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


def check_profiles(message):
    """Checks what the specification wants of the dictionary, and what no Collector checks: every index names something."""
    tables = {name: list(getattr(message.dictionary, name)) for name in message.dictionary.DESCRIPTOR.fields_by_name}
    used = {name: {0} for name in tables}

    def use(name, index):
        assert 0 <= index < len(tables[name]), f"{name}[{index}] of {len(tables[name])}"
        used[name].add(index)
        return tables[name][index]

    def names(part):
        for field, value in part.ListFields():
            if field.name.endswith("_strindex"):
                use("string_table", value)

    for attribute in tables["attribute_table"]:
        names(attribute)
    samples = 0
    for profile in (p for r in message.resource_profiles for s in r.scope_profiles for p in s.profiles):
        names(profile.sample_type)
        assert len(profile.profile_id) == 16
        for sample in profile.samples:
            samples += 1
            assert len(sample.values) == 1 and sample.values[0] > 0
            use("link_table", sample.link_index)
            stack = use("stack_table", sample.stack_index)
            assert stack.location_indices
            for index in stack.location_indices:
                location = use("location_table", index)
                for line in location.lines:
                    names(use("function_table", line.function_index))
                mapping = use("mapping_table", location.mapping_index)
                names(mapping)
                for attribute in mapping.attribute_indices:
                    use("attribute_table", attribute)
    assert samples > 0
    for name, entries in tables.items():
        first = entries[0] if name == "string_table" else entries[0].SerializeToString()
        none = {"string_table": "", "link_table": b"\n\x10" + bytes(16) + b"\x12\x08" + bytes(8)}.get(name, b"")
        assert first == none, f"{name} begins with {first}"
        texts = [entry if name == "string_table" else entry.SerializeToString() for entry in entries]
        assert len(set(texts)) == len(texts), f"{name} has something twice"
        assert len(used[name]) == len(entries), f"nothing uses some of {name}"


def main():
    printed = {}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pb")):
        kind = KINDS.get(path.stem, ExportTraceServiceRequest)
        body = path.read_bytes()
        message = kind.FromString(body)
        assert message.SerializeToString(deterministic=True) == body, f"{path.name}: there is more in it"
        ours = json.loads(path.with_suffix(".json").read_text())
        # Unknown fields are errors here.
        parsed = json_format.ParseDict(ids(ours, from_hex), kind())
        assert parsed == message, f"{path.name}: JSON and protobuf differ"
        if path.stem == "profiles":
            check_profiles(message)
        printed[path.stem] = ids(json_format.MessageToDict(message), to_hex)
    print(json.dumps(printed, indent=1, ensure_ascii=False))


main()
