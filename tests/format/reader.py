#!/usr/bin/env python3
"""A reader of .kperf files, written from FORMAT.md alone: it shares no code with kperf-wasm.

    reader.py TRACE

prints as JSON what the trace says: for each function its calls, self and total time in nanoseconds, and how many calls
were counted; events, anchors, outcome, and what was wrong. Column frames are zstd, for which Python 3.14 has a module,
older ones need `zstandard` or the program `zstd`.
"""

import json
import struct
import subprocess
import sys
import zlib
from collections import Counter, defaultdict


def unzstd(frame, length):
    """Unpacks a zstd frame of a known length."""
    try:
        from compression import zstd

        return zstd.decompress(frame)
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(frame, max_output_size=max(length, 1))
    except ImportError:
        return subprocess.run(["zstd", "-dc"], input=frame, stdout=subprocess.PIPE, check=True).stdout


# What a profile's nodes of these ids are.
WAITS = {4294967290: "processor", 4294967289: "own"}


def unlz4(block):
    """Unpacks an LZ4 block."""
    out, at = bytearray(), 0

    def extended(length):
        nonlocal at
        if length == 15:
            while True:
                byte = block[at]
                at += 1
                length += byte
                if byte != 255:
                    break
        return length

    while at < len(block):
        token = block[at]
        at += 1
        literals = extended(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at >= len(block):
            break
        back = int.from_bytes(block[at : at + 2], "little")
        at += 2
        length = extended(token & 15) + 4
        for _ in range(length):
            out.append(out[-back])
    return bytes(out)


class Numbers:
    """Bytes that are read from front to back."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def leb(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self, length):
        self.at += length
        assert self.at <= len(self.data)
        return self.data[self.at - length : self.at]

    def text(self):
        return self.bytes(self.leb()).decode("utf-8")


class Function:
    def __init__(self):
        self.calls = self.self_ticks = self.total_ticks = 0


class Lane:
    """The open calls of one stack of one recorder: [function, start, ticks of what it called]."""

    def __init__(self):
        self.open, self.now, self.names = [], 0, Counter()


class Trace:
    def __init__(self, data):
        self.header, self.summary, self.notes = {}, {}, []
        self.symbols, self.counted, self.modules = {}, set(), []
        self.codes, self.places = {}, 0
        self.functions = defaultdict(Function)
        self.lanes = defaultdict(Lane)
        self.events, self.marks, self.anchors, self.unknown = Counter(), 0, [], []
        self.waits = Counter()
        self.samples, self.profile_calls, self.profile_ticks = 0, Counter(), Counter()
        if data[:6] != b"KPERF\0" or data[6] != 1:
            raise SystemExit(f"not a trace of version 1: {data[:8]!r}")
        self.version = f"{data[6]}.{data[7]}"
        at = 8
        while at + 28 <= len(data):
            head = data[at : at + 28]
            sync, kind, recorder, _sequence, length, crc, own = struct.unpack("<4s4sIIIII", head)
            if sync != b"\xf5kpf" or zlib.crc32(head[:24]) != own:
                self.notes.append(f"no chunk at {at:#x}")
                break
            payload = data[at + 28 : at + 28 + length]
            at += 28 + length
            if zlib.crc32(payload) != crc:
                self.notes.append(f"bad checksum of {kind}")
                continue
            read = getattr(self, "on_" + kind.decode("ascii").lower(), None)
            if read is None:
                self.unknown.append(kind.decode("ascii"))
            else:
                read(recorder, payload)
        latest = max((lane.now for lane in self.lanes.values()), default=0)
        end = max(latest, int(self.summary.get("end_ticks", 0)))
        is_one_clock = self.header["clock"]["kind"] != "instructions" or len(self.lanes) == 1
        for lane in self.lanes.values():
            lane.now = end if lane.open and is_one_clock else lane.now
            self.close(lane, 0)

    def on_head(self, _recorder, payload):
        self.header = json.loads(payload)

    def on_endt(self, _recorder, payload):
        self.summary = json.loads(payload)

    def on_anch(self, _recorder, payload):
        self.anchors.append(list(struct.unpack_from("<QQ", payload)))

    def on_stal(self, _recorder, payload):
        pass

    def on_lost(self, _recorder, payload):
        self.events["lost"] += struct.unpack_from("<Q", payload)[0]

    def on_prnt(self, _recorder, payload):
        pass

    def on_syms(self, _recorder, payload):
        if payload[0] not in (1, 2):
            self.notes.append("a symbol table of an unknown version")
            return
        body = unlz4(payload[5:])
        assert len(body) == struct.unpack_from("<I", payload, 1)[0]
        body = Numbers(body)
        self.modules.append(json.loads(body.text())["name"])
        first, count = body.leb(), body.leb()
        places = {}
        for id in range(first, first + count):
            index, offset, flags = body.leb(), body.leb(), body.byte()
            name = body.text()
            if flags & 4:
                name = body.text()
            if flags & 16:
                places[id] = (body.leb(), body.leb())
            if flags & 32:
                self.counted.add(id)
            self.symbols[id] = name
            assert index >= 0 and offset >= 0
        files = [body.text() for _ in range(body.leb())] if body.left() else []
        assert all(file < len(files) for file, _ in places.values())
        if body.left():
            for id in range(first, first + count):
                self.codes[id] = self.code(body.bytes(body.leb()), len(files))

    @staticmethod
    def code(body, files):
        """What a table says of the code of a function: how many rows, call sites and moves."""
        if not body:
            return (0, 0, 0)
        body = Numbers(body)
        _class = body.leb()
        rows, line = body.leb(), 0
        for _ in range(rows):
            _offset, file = body.leb(), body.leb()
            if file:
                difference = body.leb()
                line += difference // 2 if difference % 2 == 0 else -(difference + 1) // 2
                assert line >= 0 and file - 2 < files
        sites = body.leb()
        for _ in range(sites):
            _offset, _target = body.leb(), body.leb()
        moves = body.leb()
        for _ in range(moves):
            _new, _old = body.leb(), body.leb()
        assert not body.left()
        return (rows, sites, moves)

    def on_evts(self, recorder, payload):
        if payload[0] == 0:
            header, words = payload[1:17], self.raw(payload[17:])
        elif payload[0] == 1:
            header, words = self.columns(payload)
        else:
            self.notes.append("an unknown codec")
            return
        stack, depth, ticks = struct.unpack("<IIQ", header)
        lane = self.lanes[recorder, stack]
        lane.now = max(lane.now, ticks)
        if depth != len(lane.open):
            self.notes.append(f"lane {recorder}.{stack}: {len(lane.open)} calls are open, not {depth}")
        for passed, word in words:
            ticks += passed
            lane.now = max(lane.now, ticks)
            if word is not None and word >> 26 == 0xE4000000 >> 26:
                lane = self.lanes[recorder, word & 0x3FFFFFF]
                lane.now = max(lane.now, ticks)
            elif word is not None:
                self.word(lane, word)

    def on_span(self, recorder, payload):
        """Slow calls of a profile are in its windows already."""
        kept, self.functions = self.functions, defaultdict(Function)
        self.on_evts(recorder, payload)
        self.functions = kept

    @staticmethod
    def raw(data):
        words = [word for (word,) in struct.iter_unpack("<I", data)]
        at = passed = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word >> 30 == 1:
                passed += word & 0x3FFFFFFF
            elif word == 0xE0000000:
                passed += words[at] | words[at + 1] << 32
                at += 2
            else:
                yield passed, word
                passed = 0
        yield passed, None

    @staticmethod
    def columns(payload):
        _, form, packed, _ = payload[:4]
        (count,) = struct.unpack_from("<I", payload, 20)
        columns, at = [], 48
        for n in range(3):
            length, stored = struct.unpack_from("<II", payload, 24 + 8 * n)
            column = payload[at : at + stored]
            at += stored
            columns.append(unzstd(column, length) if packed >> n & 1 else column)
            assert len(columns[-1]) == length
        ids, others, times = (Numbers(column) for column in columns)

        def entry():
            number = ids.leb()
            if number == 0:
                return 0x80000000
            if number == 1:
                others.at += 4
                return struct.unpack_from("<I", others.data, others.at - 4)[0]
            return number - 2

        def words():
            if form == 0:
                for _ in range(count):
                    yield times.leb(), entry()
                return
            left = count
            passed = 0
            while times.left():
                for _ in range(times.leb()):
                    yield passed, entry()
                    passed, left = 0, left - 1
                passed += times.leb()
            for _ in range(left):
                yield passed, entry()
                passed = 0

        return payload[4:20], words()

    def word(self, lane, word):
        if word < 1 << 30:
            self.enter(lane, word)
        elif word >> 30 == 2:
            if word & 0x3FFFFFFF:
                self.enter(lane, (word & 0x3FFFFFFF) - 1)
            self.events["leaves"] += 1
            self.close(lane, len(lane.open) - 1)
        elif word < 0xE0000000:
            self.events["unwinds"] += 1
            self.close(lane, word & 0x3FFFFFF)
        elif word >> 26 == 0xE8000000 >> 26:
            self.marks += 1
        elif word >> 26 == 0xF4000000 >> 26 and lane.open:
            self.no_self_time(lane, word & 0x3FFFFFF)
        elif word >> 26 == 0xF8000000 >> 26 and lane.open and word >> 23 & 7 < 3:
            ticks = (word & 0x3FFFFF) << (22 if word >> 22 & 1 else 0)
            self.waits[("processor", "own", "estimated")[word >> 23 & 7]] += ticks
            self.no_self_time(lane, ticks)

    @staticmethod
    def no_self_time(lane, ticks):
        innermost = lane.open[-1]
        innermost[2] += min(ticks, lane.now - innermost[1])

    def enter(self, lane, id):
        self.events["enters"] += 1
        lane.names[id] += 1
        lane.open.append([id, lane.now, 0])

    def close(self, lane, depth):
        while len(lane.open) > max(depth, 0):
            id, start, inside = lane.open.pop()
            length = lane.now - start
            function = self.functions[id]
            function.calls += 1
            function.self_ticks += length - inside
            lane.names[id] -= 1
            if not lane.names[id]:
                function.total_ticks += length
            if lane.open:
                lane.open[-1][2] += length

    def on_prof(self, _recorder, payload):
        length = struct.unpack_from("<I", payload, 4)[0]
        body = unzstd(payload[8:], length) if payload[0] else payload[8:]
        assert len(body) == length
        body = Numbers(body)
        _start, _length, _period, _least = (body.leb() for _ in range(4))
        self.samples += body.leb()
        _torn, _cut, _idle, _squares = (body.leb() for _ in range(4))
        nodes = []
        for _ in range(body.leb()):
            _back, id, _samples, ticks = (body.leb() for _ in range(4))
            nodes.append(id)
            if id < 1 << 30:
                self.profile_ticks[id] += ticks
            elif id in WAITS:
                self.waits[WAITS[id]] += ticks
        next = 0
        for _ in range(body.leb()):
            next += body.leb()
            self.profile_calls[next] += body.leb()
            next += 1
        node = 0
        for _ in range(body.leb() if body.left() else 0):
            node += body.leb()
            _offset, _samples, _ticks = (body.leb() for _ in range(3))
            self.places += 1
        parents = body.leb() if body.left() else 0
        assert parents <= 1
        if parents:
            assert len(body.bytes(24)) == 24
        for id in nodes if body.left() else []:
            calls = body.leb()
            if id < 1 << 30:
                self.profile_calls[id] += calls

    def report(self):
        nanos = 1e9 / self.header.get("clock", {}).get("ticks_per_second", 1e9)
        functions = {}
        for id, function in self.functions.items():
            functions[id] = [function.calls, function.self_ticks * nanos, function.total_ticks * nanos]
        for id in self.profile_calls.keys() | self.profile_ticks.keys():
            functions[id] = [self.profile_calls[id], self.profile_ticks[id] * nanos, None]
        rows = [
            {
                "id": id,
                "name": self.symbols.get(id, f"func id {id}"),
                "counted": id in self.counted,
                "calls": calls,
                "self_nanos": own,
                "total_nanos": total,
            }
            for id, (calls, own, total) in sorted(functions.items())
        ]
        return {
            "version": self.version,
            "modules": self.modules,
            "symbols": len(self.symbols),
            "outcome": self.summary.get("outcome", ""),
            "enters": self.events["enters"],
            "events": self.events["enters"] + self.events["leaves"] + self.events["unwinds"] + self.marks,
            "lost": self.events["lost"],
            "anchors": self.anchors,
            "samples": self.samples,
            "waits": {kind: ticks * nanos for kind, ticks in self.waits.items()},
            "unknown": self.unknown,
            "notes": self.notes,
            "functions": rows,
        }


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print(json.dumps(Trace(file.read()).report(), indent=1))
