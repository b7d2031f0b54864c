"""Publishes two facts to ctxledger: an item was added to the context of a turn,
and a selection included it and excluded another item."""

import asyncio
import os
import uuid
from datetime import datetime, timezone

import nats
from cloudevents.core.bindings import http
from cloudevents.core.v1.event import CloudEvent

from contract import message_id, subject

SESSION = os.environ.get("SESSION") or str(uuid.uuid4())
TIME = datetime.fromisoformat(os.environ["TIME"]) if "TIME" in os.environ else datetime.now(timezone.utc)
# All ids of the runtime: evidence joins context to the turn by these ids.
IDS = {"tenant": "acme", "agent": "codeur n° 1", "runtimeid": "bench-py", "sessionid": SESSION,
       "threadid": "thread-1", "turnid": "turn-1", "runid": "run-1", "contextid": "ctx-turn-1"}
SOURCE = f"urn:ctxledger:runtime:{IDS['runtimeid']}:example"

FACTS = [
    {"event_type": "context.item.added", "item_id": "item-readme", "context_kind": "file_excerpt", "title": "README.md: “Über uns”",
     "content_mode": "ref", "content_ref": "file:///workspace/README.md", "token_estimate": 612, "estimator": "o200k_base",
     "visibility": ["model"], "layer": "tool_results"},
    {"event_type": "context.selection.completed", "selection_id": "sel-1", "surface_id": "surface-1",
     "candidate_item_refs": ["item-readme", "item-log"],
     "selected_item_refs": [{"item_ref": "item-readme", "rank": 1, "score": 0.93, "tokens": 612}],
     "omitted_item_refs": [{"item_ref": "item-log", "tokens": 9120, "reason": "budget_limit"}]},
]


async def main() -> None:
    connection = await nats.connect(os.environ.get("NATS_URL", "nats://127.0.0.1:4222"))
    stream = connection.jetstream()
    for position, fact in enumerate(FACTS, start=1):
        kind, sequence = fact["event_type"], f"{position:012d}"  # contiguous for this source and session
        event = CloudEvent({
            "specversion": "1.0", "id": f"{SESSION}-{sequence}",  # the same id for the same fact: a second publish has no effect
            "source": SOURCE, "type": f"dev.ctxledger.{kind}.v1", "subject": fact.get("item_id") or fact["selection_id"], "time": TIME,
            "datacontenttype": "application/json", "dataschema": f"urn:ctxledger:schema:{kind}:v1",
            **IDS, "sequence": sequence, "partitionkey": SESSION,
        }, {"schema_version": "0.1.0", **fact})
        # NATS uses the message of the HTTP binding; the package escapes the ce- headers.
        message = http.to_binary_event(event) if os.environ.get("MODE") == "binary" else http.to_structured_event(event)
        headers = {**message.headers, "Nats-Msg-Id": message_id(SOURCE, event.get_id())}
        ack = await stream.publish(subject(IDS["tenant"], IDS["runtimeid"], SESSION, kind), message.body, headers=headers)
        print(kind, "was there already" if ack.duplicate else f"is number {ack.seq}")
    await connection.drain()


asyncio.run(main())
