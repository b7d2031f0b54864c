# Records the decisions of a file. Standard input: the file. Arguments: the address and the key file's text.
import json
import sys

import ctxledger

d = json.load(sys.stdin)
guard = ctxledger.Guard()
guard.withhold(**d["withheld"])
with ctxledger.connect(url=sys.argv[1], runtime=d["runtime"], key=ctxledger.Key.parse(sys.argv[2]), guard=guard) as client:
    run = client.run(**{name: d[name] for name in ("session", "agent", "resource", "task", "attempt", "program")}, id=d["run"])
    items, gap = {}, None
    for t in d["turns"]:
        turn = run.turn(t["id"], model=d["model"]["name"], max_tokens=d["model"]["max_tokens"], reserved_output=d["model"]["reserved_output"])
        for step in t["steps"]:
            do = step.pop("do")
            if do == "add":
                items[step["id"]] = turn.add(**step, estimator="o200k_base")
            elif do == "missing":
                gap = turn.missing(**step)
            elif do == "resolve":
                gap.resolve(*step["refs"])
            elif do == "call":
                call, point, usage = turn.call(step.pop("id")), step.pop("point"), step.pop("usage")
                window = call.select([items[id] for id in step.pop("candidates")], **step)
                call.inject(call.assemble(window), point)
                call.usage(**usage)
            elif do == "compact":
                compaction = turn.call(step["call"]).compact([items[id] for id in step["window"]], step["source"])
                if "fail" in step:
                    compaction.fail(step["fail"])
                else:
                    for item in compaction.complete(**step["summary"], estimator="o200k_base"):
                        items[item.id] = item
        turn.seal()
    print(client.refused, "refused")
    for refusal in client.refusals:
        print(refusal)
