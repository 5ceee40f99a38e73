"""Reads boards with Grafana's own SDK and writes them again.

Exits with 1 if anything of a board is lost or changed on the way. What the SDK adds are its defaults.
"""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def changes(before, after, place):
    """What is in `before` and not, or not the same, in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{place}.{key} is lost: {json.dumps(value)[:80]}"
            else:
                yield from changes(value, after[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after)):
            yield from changes(one, other, f"{place}[{at}]")
    elif before != after:
        yield f"{place} was {json.dumps(before)[:80]} and is {json.dumps(after)[:80]}"


register_default_plugins()
wrong = 0
for path in sys.argv[1:]:
    with open(path) as file:
        board = json.load(file)
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))
    for change in changes(board, again, board["title"]):
        print(change)
        wrong += 1
sys.exit(1 if wrong else 0)
