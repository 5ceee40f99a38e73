#!/usr/bin/env python3
"""Reads Prometheus' text format from standard input with the official parser of prometheus_client,
makes the checks that the parser omits, and prints one line of JSON per sample: name, labels, value, type.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

text = sys.stdin.read()
assert text.endswith("\n") or not text, "the last line has no end"
declared = [line.split(" ", 3)[2] for line in text.splitlines() if line.startswith("# TYPE ")]
assert len(declared) == len(set(declared)), "a metric is declared twice"
for line in text.splitlines():
    if line.startswith("# HELP "):
        assert line.split(" ", 3)[3].strip(), line

for family in text_string_to_metric_families(text):
    assert family.documentation, family.name
    last = {}
    for sample in family.samples:
        if family.type == "counter":
            assert sample.name.endswith("_total") and sample.value >= 0, sample
        if sample.name.endswith("_bucket"):
            key = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            assert sample.value >= last.get(key, 0), f"buckets are cumulative: {sample}"
            last[key] = sample.value
        if family.type == "histogram" and sample.name.endswith("_count"):
            assert sample.value == last[tuple(sorted(sample.labels.items()))], sample
        print(json.dumps([sample.name, sample.labels, sample.value, family.type]))
