# Measures what recording costs the agent. Argument: the address.
import json
import os
import statistics
import sys
import time

import ctxledger

client = ctxledger.connect(url=sys.argv[1], runtime="py", max_queued=1_000_000)
turn = client.run(session="cost").turn("t", model="m", max_tokens=100_000)


def took(n, f):
    times = []
    for i in range(n):
        began = time.perf_counter()
        f(i)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def call(i):
    c = turn.call(f"c{i}")
    c.inject(c.assemble(c.select(items[:200])), "message_history")
    c.usage(output_tokens=1)


items = []
add = took(2000, lambda i: items.append(turn.add(f"i{i}", "word " * 200, kind="message", role="user", layer="user")))
print(json.dumps({"add_ms": add, "window_of_200_ms": took(200, call)}), flush=True)
os._exit(0)
