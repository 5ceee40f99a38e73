#!/usr/bin/env python3
"""Checks a trace in Chrome's Trace Event Format, using only the standard library.

Standard input: the JSON. Standard output: "name count" for the events of each phase, after these
checks: every event has the fields that its phase needs; slices of a thread nest; times increase in
each thread, asynchronous row and counter; every asynchronous slice ends exactly once, after its
begin; every process and thread with events has a name.
"""

import collections
import json
import sys

NEEDED = {
    "X": {"name", "ts", "dur", "pid", "tid"},
    "i": {"name", "ts", "pid", "tid", "s"},
    "b": {"name", "cat", "ts", "pid", "tid", "id"},
    "e": {"name", "cat", "ts", "pid", "tid", "id"},
    "C": {"name", "ts", "pid", "args"},
    "M": {"name", "pid", "args"},
}


def row(event):
    """The sequence in which an event's time must increase."""
    if event["ph"] in "be":
        return ("async", event["pid"], event["cat"], event["name"])
    if event["ph"] == "C":
        return ("counter", event["pid"], event["name"])
    return ("thread", event["pid"], event["tid"])


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def main():
    trace = json.load(sys.stdin)
    assert trace["baseTimeNanoseconds"] % (7889238 * 10**9) == 0
    latest = {}
    open_slices = collections.defaultdict(list)
    open_async = {}
    counts = collections.Counter()
    named = set()
    used = set()
    for event in trace["traceEvents"]:
        phase = event["ph"]
        counts[phase] += 1
        lacks = NEEDED[phase] - event.keys()
        assert not lacks, (event, lacks)
        if phase == "M":
            if event["name"] in ("process_name", "thread_name"):
                assert event["args"]["name"], event
                named.add((event["name"], event["pid"], event["tid"] * (event["name"] == "thread_name")))
            continue
        used.add(("process_name", event["pid"], 0))
        time = nanoseconds(event["ts"])
        assert time >= latest.get(row(event), time), event
        latest[row(event)] = time
        if phase in "Xi":
            used.add(("thread_name", event["pid"], event["tid"]))
        if phase == "X":
            end = time + nanoseconds(event["dur"])
            assert end >= time, event
            around = open_slices[row(event)]
            while around and around[-1] <= time:
                around.pop()
            assert not around or end <= around[-1], ("overlaps", event)
            around.append(end)
        elif phase == "b":
            assert event["id"] not in open_async, event
            open_async[event["id"]] = (time, event["name"])
        elif phase == "e":
            begun, name = open_async.pop(event["id"])
            assert begun <= time and name == event["name"], event
        elif phase == "C":
            assert all(value >= 0 for value in event["args"].values()), event
    assert not open_async, len(open_async)
    assert used <= named, used - named
    for phase, count in sorted(counts.items()):
        print(phase, count)


if __name__ == "__main__":
    main()
