"""Reads a trace with Perfetto's own messages; prints how often each function was called, and what is wrong."""

import sys
from collections import Counter

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, tracks, calls, open_slices, last = {}, {}, Counter(), Counter(), {}
for packet in trace.packet:
    # Fields that the schema doesn't have would be dropped here.
    assert packet.trusted_packet_sequence_id == 1, packet
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        tracks[track.uuid] = track.process.process_name or track.thread.thread_name
        assert track.parent_uuid == 0 or track.parent_uuid in tracks, track
    if packet.HasField("track_event"):
        event = packet.track_event
        assert event.track_uuid in tracks, event
        assert packet.timestamp >= last.get(event.track_uuid, 0), packet
        last[event.track_uuid] = packet.timestamp
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            calls[names[event.name_iid]] += 1
            open_slices[event.track_uuid] += 1
        elif event.type == TrackEvent.TYPE_SLICE_END:
            open_slices[event.track_uuid] -= 1
            assert open_slices[event.track_uuid] >= 0, packet
print("tracks:", ", ".join(tracks.values()), "- open at the end:", sum(open_slices.values()))
for name, count in sorted(calls.items()):
    print(count, name)
