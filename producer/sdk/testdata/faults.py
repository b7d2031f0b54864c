# Records events through an outbox. Arguments: address, folder, number of events, and whether
# the process ends without sending ("leave"), waits for the stream ("send"), or only keeps the
# outbox until its input ends ("hold").
import json
import os
import signal
import sys

import ctxledger

url, outbox, n, mode = sys.argv[1:]
client = ctxledger.connect(url=url, runtime="py", outbox=outbox, stream_wait=0.2, linger=0.005, log=lambda line: None)
if mode == "hold":
    print("held", flush=True)
    sys.stdin.read()
turn = client.run(session=f"fault-{mode}").turn("t")
for i in range(int(n)):
    turn.add(f"i{i}", "text")
turn.record("context.item.removed", {})  # refused: it names no item
receipt = turn.seal()
if mode == "leave":
    sys.stdout.write(json.dumps({"stored": receipt.stored}, separators=(",", ":")))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
done = client.close(20)
print(json.dumps({"stored": receipt.stored, "done": done, "refused": [r._asdict() for r in client.refusals]}))
