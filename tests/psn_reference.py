#!/usr/bin/env python3
"""REPORT's classes of request packets, counted a second time from tshark's fields.

Standard input: one request packet a line in the order of capture, tab-separated: flow, PSN, IPv4
identification (hexadecimal, empty for IPv6). Standard output: one JSON object a flow.

A packet ahead of the highest PSN skips what lies between (gap). One at or behind it is, by the
first rule that decides: (1) its PSN was seen: retransmitted; (2) identifications are proven to
rise: older than that of the packet which set the highest PSN: out of order, newer: retransmitted;
(3) it fills a hole: with another packet behind the highest PSN right before or after it:
retransmitted, alone: out of order; (4) ambiguous.
"""

import json
import sys

PSNS = 1 << 24
PROOF = 8  # rises before identifications count as proof; one fall ends the trust


def ahead(psn, high):
    """Signed distance on the circle of PSNs."""
    return (psn - high + PSNS // 2) % PSNS - PSNS // 2


def classify(packets):
    first, high_id = packets[0]
    high, rises = first, 0
    seen, skipped = {first}, set()
    counts = dict(gap=0, out_of_order=0, retransmitted=0, ambiguous=0)
    # Whether each packet is behind the highest PSN at its time: known before the classes are.
    behind, top = [False], first
    for psn, _ in packets[1:]:
        behind.append(ahead(psn, top) <= 0)
        top = top if behind[-1] else psn
    behind.append(False)

    for at, (psn, identification) in enumerate(packets[1:], 1):
        newer = None
        if identification is not None and high_id is not None:
            newer = 0 < (identification - high_id) % 65536 < 32768
        if not behind[at]:
            missing = ahead(psn, high) - 1
            skipped.update((high + 1 + n) % PSNS for n in range(missing))
            counts["gap"] += missing
            high, high_id = psn, identification
            rises = rises + 1 if newer and rises is not None else None
        elif psn in seen:
            counts["retransmitted"] += 1
        elif rises is not None and rises >= PROOF:
            counts["retransmitted" if newer else "out_of_order"] += 1
        elif psn in skipped:
            in_run = behind[at - 1] or behind[at + 1]
            counts["retransmitted" if in_run else "out_of_order"] += 1
        else:
            counts["ambiguous"] += 1
        seen.add(psn)
    return dict(counts, unfilled=len(skipped - seen))


def main():
    flows = {}
    for line in sys.stdin:
        flow, psn, identification = line.rstrip("\n").split("\t")
        packet = (int(psn), int(identification, 16) if identification else None)
        flows.setdefault(flow, []).append(packet)
    for flow, packets in flows.items():
        print(json.dumps(dict(classify(packets), flow=flow)))


main()
