# Records turns through an outbox until it is killed. Arguments: address, folder, session, name of the
# process. It prints the items of each turn that was reported as stored. Without a name, the process
# sends what waits in the outbox, and ends.
import itertools
import json
import sys

import ctxledger

url, outbox, session, name = sys.argv[1:]
with ctxledger.connect(url=url, runtime="py", outbox=outbox, stream_wait=0.1, linger=0.002, max_batch=7, log=lambda line: None) as client:
    if not name:
        print(json.dumps({"done": client.flush(40)}))
        sys.exit()
    run = client.run(session=session)
    for n in itertools.count():
        turn = run.turn(f"{name}/{n}")
        items = [turn.add(f"{name}/{n}/{i}", "text", kind="fixed").id for i in range(1 + n * 7 % 20)]
        print(json.dumps({"stored": turn.seal().stored, "items": items}), flush=True)
