# Records an event, and prints the notices that come. Arguments: the address and the session.
import json
import sys
import time

import ctxledger

lines = []
client = ctxledger.connect(url=sys.argv[1], runtime="py", instance="fixed", receipts=0.05, log=lines.append)
client.run(session=sys.argv[2])
client.flush()
end = time.monotonic() + 20
while not client.quarantined and time.monotonic() < end:
    time.sleep(0.02)
client.close()
print(json.dumps({"quarantined": client.quarantined, "again": client.receipts(), "lines": lines, "source": client.source, "id": client.notices[0].id if client.notices else ""}))
