# Measures what recording costs the agent, as medians of the time and of the time on a processor.
# Argument: the address.
import json
import os
import statistics
import sys
import time

import ctxledger

client = ctxledger.connect(url=sys.argv[1], runtime="py", max_queued=1_000_000)
turn = client.run(session="cost").turn("t", model="m", max_tokens=100_000)


def took(n, f):
    times, busy = [], []
    for i in range(n):
        began, used = time.perf_counter(), time.thread_time()
        f(i)
        busy.append(1000 * (time.thread_time() - used))
        times.append(1000 * (time.perf_counter() - began))
    return [statistics.median(times), statistics.median(busy)]


def call(i):
    c = turn.call(f"c{i}")
    c.inject(c.assemble(c.select(items[:200])), "message_history")
    c.usage(output_tokens=1)


items = []
add = took(2000, lambda i: items.append(turn.add(f"i{i}", "word " * 200, kind="message", role="user", layer="user")))
print(json.dumps({"add": add, "window": took(200, call)}), flush=True)
os._exit(0)
