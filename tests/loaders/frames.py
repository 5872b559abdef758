"""Holds a file against speedscope's own schema; prints how often each frame was opened."""

import json
import sys
from collections import Counter

import jsonschema

profile = json.load(open(sys.argv[1]))
jsonschema.validate(profile, json.load(open(sys.argv[2])))
calls = Counter()
for lane in profile["profiles"]:
    stack, last = [], lane["startValue"]
    for event in lane["events"]:
        assert event["at"] >= last, event
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
            calls[profile["shared"]["frames"][event["frame"]]["name"]] += 1
        else:
            assert stack.pop() == event["frame"], event
    assert stack == [] and last <= lane["endValue"]
for name, count in sorted(calls.items()):
    print(count, name)
