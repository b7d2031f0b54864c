"""Record the context facts of an agent in ctxledger, over HTTP.

    with ctxledger.connect(runtime="coder") as client:
        run = client.run(session="s_1", agent="coder")
        turn = run.turn("turn_1", model="gpt-4o", max_tokens=24_000, reserved_output=2_000)
        item = turn.add("m1", "hi", kind="message", role="user", layer="user")
        call = turn.call("call_1")
        window = call.select([item])
        blocks = call.assemble(window)
        call.inject(blocks, "message_history")
        call.usage(uncached_input_tokens=1, output_tokens=9)
        turn.seal()

Recording never waits and never raises for a rule of the contract. The gateway judges the
events. Refused ones are counted, logged and listed in Client.refusals, and those that the
projector quarantines later in Client.notices. Every method that
waits has an asynchronous twin with an "a" before its name: aseal, aflush, astore, aclose.
"""

from .client import Client, Notice, Refusal, connect
from .guard import Guard, Hit
from .key import Key, bucket, message_id, uuid7
from .outbox import OutboxInUse
from .run import Call, Gap, Item, OpenCompaction, Receipt, Run, Turn

__all__ = [
    "Call", "Client", "Gap", "Guard", "Hit", "Item", "Key", "Notice", "OpenCompaction", "OutboxInUse", "Receipt", "Refusal", "Run", "Turn",
    "bucket", "connect", "message_id", "uuid7",
]
