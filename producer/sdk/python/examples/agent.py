"""A whole agent loop that records its context: python3 agent.py ["a task"]

The agent answers from the files of a folder. A scripted model stands in for a provider, so
the example needs no account: replace answer() by a call of your provider's SDK. The address
is CTXLEDGER_URL, or that of `ctxledger up` on this machine.
"""
import asyncio
import os
import sys

import ctxledger

FILES = {
    "deploy.env": "REGION=eu-1\nDEPLOY_KEY=sk-live-4f9a1c77e2\n",
    "retry.py": "def retry(call, limit):\n    for attempt in range(limit):\n        try:\n            return call()\n        except OSError:\n            pass\n",
}
WINDOW = 90  # tokens of the model's window


def answer(messages):
    """answer is the scripted model: it reads each file, then answers. Usage is in disjoint buckets."""
    said = [m["content"] for m in messages]
    spoken = " ".join(said)
    usage = {"uncached_input_tokens": sum(map(len, said)) // 4, "output_tokens": 12}
    for path in (*FILES, "limits.md"):
        if f"read {path}" not in spoken:
            return {"tool": path, "usage": usage}
    return {"text": "retry() gives up without an error; limits.md is missing.", "usage": usage}


class Agent:
    def __init__(self, client, session):
        self.client, self.window, self.gaps = client, [], {}
        self.run = client.run(session=session, agent="reader", program="examples/agent.py")
        self.turns = 0

    async def ask(self, task):
        """ask answers one task: a turn of as many model calls as it needs."""
        self.turns += 1
        turn = self.run.turn(f"turn-{self.turns}", model="scripted", max_tokens=WINDOW, reserved_output=20)
        if not self.window:
            self.window.append(turn.add("system", "Answer from the files.", kind="fixed", role="system", layer="system"))
        self.window.append(turn.add(f"task-{self.turns}", task, kind="message", role="user", layer="user"))
        for n in range(10):
            call = turn.call(f"call-{self.turns}-{n}")
            self.make_room(turn, call)
            sent = call.select(self.window, intent="answer")
            call.inject(call.assemble(sent), "message_history")
            reply = await asyncio.to_thread(answer, [{"role": i.role, "content": i.text} for i in sent])
            call.usage(**reply["usage"])
            if "text" in reply:
                self.window.append(turn.add(f"answer-{self.turns}", reply["text"], kind="message", role="assistant", layer="assistant", call_id=call.id))
                break
            self.read(turn, call, reply["tool"], n)
        return reply.get("text", ""), await turn.aseal()

    def read(self, turn, call, path, n):
        """read runs the tool. Its call and its result enter the window; a missing file is a gap."""
        tool, text = f"tool-{self.turns}-{n}", FILES.get(path)
        if path.endswith(".env"):
            for line in (text or "").splitlines():
                if "KEY=" in line:  # withheld before anything of it is recorded
                    self.client.guard.withhold(line.partition("=")[2], policy_ref="policy:no-credentials", reason="secret")
        if text is None:
            self.gaps[path] = turn.missing(
                question=f"What does {path} say?", needed_for="a complete answer", severity="medium", scope="turn", requested_from="user",
                requested_action="say where it is", user_summary=f"{path} is missing, so the answer does without it.", call_id=call.id)
            text = f"error: {path} is missing"
        about = {"tool_call_id": tool, "call_id": call.id, "name": "read"}
        self.window.append(turn.add(tool, f"read {path}", kind="tool_call", role="assistant", layer="tool_calls", context_kind="tool_call", **about))
        self.window.append(turn.add(f"{tool}:result", text, kind="tool_result", role="tool", layer="tool_results", context_kind="tool_result", title=path, **about))

    def make_room(self, turn, call):
        """make_room replaces the oldest half of a full window by a summary."""
        if sum(item.tokens for item in self.window) <= WINDOW - 20 or len(self.window) < 4:
            return
        half = [item.id for item in self.window[1:len(self.window) // 2 + 1]]
        compaction = call.compact(self.window, half)
        text = "Earlier: " + "; ".join(item.text.splitlines()[0] for item in self.window if item.id in half)
        self.window = compaction.complete(f"summary:{call.id}", text[:80], loss_notes=["what the files say; they can be read again"])


async def main():
    async with ctxledger.connect(runtime="example-py") as client:
        agent = Agent(client, os.environ.get("SESSION", "example-py"))
        for task in sys.argv[1:] or ["What does retry() do at its limit?", "And who deploys it?"]:
            text, receipt = await agent.ask(task)
            print(f"{task}\n  {text}\n  {receipt.context_id} is in the {receipt.stored}, {receipt.refused} facts refused")


asyncio.run(main())
