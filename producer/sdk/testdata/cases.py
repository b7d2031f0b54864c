# Records the facts of standard input, one JSON object a line with type and data, and prints each
# refusal. Argument: the address.
import json
import sys

import ctxledger

with ctxledger.connect(url=sys.argv[1], runtime="cases", log=lambda line: None) as client:
    printed = 0
    lines = sys.stdin.read().strip().split("\n")
    for n, line in enumerate(lines):
        fact = json.loads(line)
        client.record(fact["type"], fact["data"], {"sessionid": "cases"})
        if n % 100 == 99 or n == len(lines) - 1:
            client.flush()
            for refusal in list(client.refusals)[len(client.refusals) - (client.refused - printed):]:
                print(json.dumps(refusal._asdict()))
            printed = client.refused
