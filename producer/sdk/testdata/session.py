# A session with every helper, for the tests. Arguments: the address and the key file's text.
import asyncio
import json
import sys

import ctxledger

SECRET = "sk-test-0123456789abcdef"


async def main(url, key):
    async with ctxledger.connect(url=url, runtime="py", key=ctxledger.Key.parse(key)) as client:
        run = client.run(session="py-1", agent="coder", max_depth=1, program="test 1")
        turn = run.turn("turn-1", model="gpt-4o")
        system = turn.add("sys", "You are a coder.", kind="message", role="system", layer="system")
        user = turn.add("u1", "Fix ünicode.", kind="message", role="user", layer="user")
        turn.redact("env", SECRET, reason="secret", policy_ref="policy:no-credentials")
        env = turn.add("env", f"KEY={SECRET}", kind="tool_result", role="tool", layer="tool_results", tool_call_id="tc-1", title=f"env with {SECRET}")
        gap = turn.missing(
            question="Where is docs/retry.md?", needed_for="limits", severity="medium", requested_from="user", requested_action="send the file",
            user_summary="A file is missing.")
        call = turn.call("call-1")
        readme = ctxledger.Item("readme", 10)
        window = call.select([system, user, env, readme], query="retry", omitted=[{"id": "readme", "reason": "low_relevance"}])
        call.inject(call.assemble(window), "message_history")
        call.usage(uncached_input_tokens=20, output_tokens=9)
        compaction = turn.call("call-2").compact(window, ["sys", "u1"])
        after = compaction.complete("sum-1", "A fix.", loss_notes=["details"])
        gap.resolve("env")
        run.child(thread="sub").turn("turn-2").add("c1", "a child", kind="message", role="user")
        turn.record("context.item.updated", {"item_id": SECRET})  # an id is not masked: the guard refuses the fact
        receipt = await turn.aseal()
        print(json.dumps({
            "receipt": {"stored": receipt.stored, "sequences": receipt.sequences}, "stored": client.stored,
            "refused": [r._asdict() for r in client.refusals], "source": client.source, "masked": env.text, "queued": client.queued,
            "after": [item.id for item in after],
        }))


asyncio.run(main(*sys.argv[1:]))
