# Signs in to NATS and records one fact. Arguments: the configuration as JSON. It prints the first
# error, or the number of stored events, and every line of the log. With "again", it records another
# fact when its input has ended.
import json
import os
import sys
import time
import traceback

import ctxledger

lines = []
try:
    config = json.loads(sys.argv[1])
    again = config.pop("again", False)
    client = ctxledger.connect(**config, runtime="py", log=lines.append)
    client.run(session="s")
    end = time.monotonic() + 20
    while client.stored == 0 and client.error is None and time.monotonic() < end:
        client.flush(0.02)
    if again:
        print("stored", flush=True)
        sys.stdin.read()
        client.run(session="s")
        client.flush(20)
    reason = client.error or ""
    client.close(0.05)
    print(json.dumps({"stored": client.stored, "error": reason, "lines": lines}), flush=True)
except Exception as error:
    print(json.dumps({"stored": 0, "error": str(error), "lines": [*lines, traceback.format_exc()]}), flush=True)
os._exit(0)
