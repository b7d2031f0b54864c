# Records what no agent should. Arguments: the address and the folder of the outbox.
import json
import os
import sys

import ctxledger

url, outbox = sys.argv[1:]
os.makedirs(outbox)
with open(os.path.join(outbox, "00000000000000-00000000-1.json"), "w") as file:
    file.write("[{")
lines = []
client = ctxledger.connect(url=url, runtime="py", outbox=outbox, linger=60, max_queued=5, log=lines.append)
turn = client.run(session="hostile").turn("t")
for i in range(7):
    turn.add(f"i{i}", "text")
flushed = client.flush()
client.guard.withhold("a secret value", policy_ref="policy:p", reason="secret")
loop = []
loop.append(loop)
turn.add("half", "\ud800x", title="\ud800x")
turn.record("context.item.updated", {"item_id": "nan", "metadata": {"x": float("nan")}})
turn.record("context.item.updated", {"item_id": "object", "metadata": {"x": object()}})
turn.record("context.item.updated", {"item_id": "loop", "metadata": {"x": loop}})
turn.record("context.item.updated", {"item_id": "a secret value"})
turn.add("last", "text", title="a secret value")
client.flush()
if os.fork() == 0:
    forked = client.run(session="forked").turn("t").add("x", "text")
    os._exit(0 if client.error and "fork" in client.error else 1)
forked = os.waitstatus_to_exitcode(os.wait()[1])
client.close()
print(json.dumps({"flushed": flushed, "dropped": client.dropped, "codes": [r.violations[0]["code"] for r in client.refusals], "forked": forked, "left": sorted(os.listdir(outbox))}))
