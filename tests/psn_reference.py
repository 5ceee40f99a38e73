#!/usr/bin/env python3
"""The report's classes of request packets, counted independently from tshark's fields.

Standard input: one request packet per line in capture order, tab-separated: flow, PSN, IPv4
identification (hexadecimal, empty for IPv6). Standard output: one JSON object per flow.

A packet above the highest PSN skips the PSNs between (gap). A packet at or below it is classified by
the first rule that applies: (1) its PSN was captured before: retransmitted; (2) identifications are
proven to increase: older than that of the packet with the highest PSN: out of order, newer:
retransmitted; (3) it fills a gap: retransmitted if the packet right before or after it is also below
the highest PSN, else out of order; (4) ambiguous.
"""

import json
import sys

PSNS = 1 << 24
PROOF = 8  # increases until identifications count as proof; one decrease ends that


def ahead(psn, high):
    """Signed distance of two PSNs, modulo 2^24."""
    return (psn - high + PSNS // 2) % PSNS - PSNS // 2


def classify(packets):
    first, high_id = packets[0]
    high, rises = first, 0
    seen, skipped = {first}, set()
    counts = dict(gap=0, out_of_order=0, retransmitted=0, ambiguous=0)
    # Whether each packet is below the highest PSN so far; needed before the classes.
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
