"""The client queues facts and sends them to a gateway, in order, in batches."""
from __future__ import annotations

import asyncio
import atexit
import datetime
import gzip
import http.client
import json
import logging
import os
import random
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import quote, urlsplit

from .address import NO_GATEWAY, NO_TOKEN, checked
from .contract import RECORD_MEMBERS
from .event import IDS, MAX_DATA, data_of, encoded
from .facts import EventType, Fact
from .guard import Guard, Hit
from .key import Key, uuid7
from .nats import Nats
from .outbox import TOUCH, Outbox
from .run import Log, Run

_FORKED = "ctxledger: this process is a fork, and its facts are lost; make the client after the fork"
_FINGERPRINTS = 200  # in one redaction
_log = logging.getLogger("ctxledger")
Ids = Mapping[str, Optional[str]]


class Refusal(NamedTuple):
    """Refusal is an event that the gateway, or the guard, did not take."""

    id: str
    type: str
    violations: List[Dict[str, Any]]


class Notice(NamedTuple):
    """Notice is an event that was stored and then quarantined by the projector."""

    id: str
    type: str
    code: str
    pointer: str
    fix: str
    stream: str
    sequence: int


class _Batch:
    """_Batch is a list of events that never changes, except that answered events leave it."""

    def __init__(self, documents: Optional[List[bytes]], name: Optional[str]) -> None:
        self.documents, self.name = documents, name
        self.counted = documents is not None  # in the number of queued events
        self.most: Optional[int] = None  # events in one request


def connect(**config: Any) -> "Client":
    """connect returns a client; see Client for its arguments."""
    return Client(**config)


class Client:
    """Client records facts and sends them to a gateway. Safe for concurrent use. Make it after a
    fork: a forked process has no threads that send. At the end of the program, close the client,
    or use it in a with statement."""

    def __init__(
        self, url: Optional[str] = None, *, token: Optional[str] = None, tenant: str = "default", runtime: str = "unnamed", instance: Optional[str] = None,
        key: Optional[Key] = None, guard: Optional[Guard] = None, outbox: Optional[str] = None, linger: float = 0.1, max_batch: int = 500,
        max_queued: int = 10_000, stream_wait: float = 1.0, receipts: Optional[float] = 5.0, log: Callable[[str], None] = _log.warning,
    ) -> None:
        """The address defaults to CTXLEDGER_URL, or port 7070 of this machine. With an address of
        NATS, such as nats://user:password@host:4222, events go straight to JetStream, for the tenant; over
        HTTP the token decides the tenant. The instance
        distinguishes processes of one runtime and defaults to a new id. An outbox is a folder that
        keeps events until the gateway has answered; without one they wait in memory. Times are in
        seconds: linger is the longest wait of an event for its batch, stream_wait that of a seal
        for the stream if there is an outbox, and receipts the time between an event and the question
        whether it was quarantined; None asks only when receipts is called. Above max_queued events in memory, facts are dropped,
        and the loss is a recorded fact. The error OutboxInUse means that the outbox has an owner."""
        self.url = checked(url or os.environ.get("CTXLEDGER_URL") or "http://127.0.0.1:7070")
        self.runtime, self.key, self.guard, self.log = runtime, key, guard or Guard(), log
        self.source = f"urn:ctxledger:runtime:{quote(runtime, safe='')}:{quote(instance or uuid7(), safe='')}"
        self.linger, self.max_batch, self.max_queued, self.stream_wait = linger, max_batch, max_queued, stream_wait
        self.stored = 0  # events that the gateway stored
        self.refused = 0  # events that were refused
        self.dropped = 0  # facts that found no room; each loss is a recorded fact
        self.refusals: Deque[Refusal] = deque(maxlen=100)  # the newest
        self.quarantined = 0  # stored events that the projector then quarantined
        self.notices: Deque[Notice] = deque(maxlen=100)  # the newest
        self.error: Optional[str] = None  # the reason why the oldest events are not stored
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._token = token
        self._nats = Nats(self.url, self.source, tenant) if self.url.startswith(("nats:", "tls:")) else None
        self._place = self._nats.name if self._nats else self.url  # for messages, without a password
        self._receipts = receipts
        self._asking: Optional[float] = None  # when the sender asks for receipts
        self._after = 0  # the position of the last receipt
        self._process = os.getpid()
        self._sequences: Dict[str, int] = {}  # the last sequence, by session
        self._lost: Dict[str, Tuple[List[int], Ids]] = {}
        self._logs: Dict[Tuple[str, str], Log] = {}
        self._buffer: List[bytes] = []
        self._bytes = 0
        self._due: Optional[float] = None  # when the buffer becomes a batch
        self._cutting = 0  # events between the buffer and the queue
        self._unkept = 0  # batches in the queue that the outbox does not have
        self._queue: Deque[_Batch] = deque()
        self._events = 0  # in the buffer and in the queue
        self._closed = False
        self._threads: List[threading.Thread] = []
        self._connection: Optional[http.client.HTTPConnection] = None
        self._outbox = Outbox(outbox) if outbox else None
        if self._outbox:
            self._queue.extend(_Batch(None, name) for name in self._outbox.waiting())
            self._begin()
        atexit.register(self.close, 2.0)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(10.0 if kind is None else 1.0)  # an error is not held up

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.aclose(10.0 if kind is None else 1.0)

    def run(self, *, session: str, **options: Any) -> Run:
        """run opens a root run; see Run.open for its arguments."""
        return Run.open(self, session=session, **options)

    def item_log(self, session: str, thread: str) -> Log:
        """item_log returns the numbers of a thread's item log, which all its runs share."""
        with self.lock:
            return self._logs.setdefault((session, thread), Log())

    def record(
        self, type: EventType, fact: Union[Fact, Mapping[str, Any], Callable[[int], Mapping[str, Any]]], ids: Ids, used: Callable[[int], None] = lambda _: None,
    ) -> bool:
        """record queues one fact, after the redactions of the guard in it, and reports whether it is
        queued. The fact is the data without schema_version and event_type. Ids are attributes such
        as turnid. used gets the sequence of each queued event."""
        if os.getpid() != self._process:  # another thread may have held the lock at the fork
            if self.error != _FORKED:
                self.error = _FORKED
                self._say(_FORKED)
            return False
        with self.lock:
            session = str(ids.get("sessionid") or "")
            sequence = self._sequences.get(session, 0)
            made = self._guarded(type, fact(sequence + 1) if callable(fact) else fact, ids)
            if made and len(made) > 1 and callable(fact):
                made = self._guarded(type, fact(sequence + len(made)), ids)
            if made is None:
                return False
            if self._closed or self._events >= self.max_queued:
                lost = self._lost.setdefault(session, ([], ids))[0]
                for _ in made:
                    self._sequences[session] = self._sequences.get(session, 0) + 1
                    lost.append(self._sequences[session])
                self.dropped += len(made)
                return False
            self._report_loss(session)
            queued = True
            for event in made:
                sequence = self._sequences.get(session, 0) + 1
                if queued := self._add(event, sequence):
                    self._sequences[session] = sequence
                    used(sequence)
            return queued

    def fits(self, type: EventType, fact: Mapping[str, Any]) -> bool:
        """fits reports whether the gateway accepts a fact of this size."""
        data = data_of(type, {name: value for name, value in fact.items() if value is not None})
        return len(encoded(self.guard.mask_all(data)[0])) <= MAX_DATA

    def _guarded(self, type: str, fact: Mapping[str, Any], ids: Ids) -> Optional[List[Dict[str, Any]]]:
        """_guarded returns the events of the redactions in a fact, and of the masked fact. It
        returns None for a fact that is refused."""
        try:
            return self._masked(type, fact, ids)
        except RecursionError:
            self._refuse("", type, [{"code": "not_json", "pointer": "/data", "found": "a value that holds itself", "fix": "pass values that JSON can encode"}])
            return None

    def _masked(self, type: str, fact: Mapping[str, Any], ids: Ids) -> Optional[List[Dict[str, Any]]]:
        data = data_of(type, {})
        fields: Dict[Hit, List[str]] = {}
        for name, value in fact.items():
            if value is None:
                continue
            data[name], hits = self.guard.mask_all(value)
            for hit in hits:
                if name.endswith("_id"):
                    return self._withheld(type, f"/data/{name}", hit)
                fields.setdefault(hit, []).append(name)
        event = self._event(type, data, ids)
        for name in ("subject", *IDS):
            hits = self.guard.mask(str(event.get(name, "")))[1]
            if hits:
                return self._withheld(type, f"/{name}", hits[0])
        events: List[Dict[str, Any]] = []
        if fields and type != "context.redaction.applied":
            record = str(data.get(RECORD_MEMBERS.get(type, ""), ""))
            kind = type.split(".")[1] if type.count(".") > 1 else "context"
            kind = {"scope": "run", "context": "pack", "facts": "drop"}.get(kind, kind)
            target = record if kind == "item" else {"kind": kind, "id": record}
            for redaction in self.redactions(f"{type}:{record}", target, fields):
                events.append(self._event("context.redaction.applied", data_of("context.redaction.applied", redaction), ids))
        return [*events, event]

    def redactions(self, what: str, target: Any, fields: Mapping[Hit, List[str]]) -> List[Dict[str, Any]]:
        """redactions returns the facts of maskings in a target, one for each policy."""
        policies: Dict[str, List[Hit]] = {}
        for hit in fields:
            policies.setdefault(hit.policy_ref, []).append(hit)
        facts = []
        for ref, hits in policies.items():
            found = [one for hit in hits for one in self.key.fingerprints(hit.value)] if self.key else []
            parts = range(0, max(1, len(found)), _FINGERPRINTS)
            for at in parts:
                fact: Dict[str, Any] = {
                    "redaction_id": f"redaction:{what}:{ref}", "target_ref": target, "redaction_state": "masked", "method": "mask",
                    "redacted_fields": list(dict.fromkeys(name for hit in hits for name in fields[hit])), "reason": hits[0].reason,
                    "policy_refs": [ref], "actor_ref": self.source,
                }
                if found:
                    fact["fingerprints"] = found[at:at + _FINGERPRINTS]
                if len(parts) > 1:
                    fact["metadata"] = {"part": at // _FINGERPRINTS + 1, "parts": len(parts)}
                facts.append(fact)
        return facts

    def _withheld(self, type: str, place: str, hit: Hit) -> None:
        self._refuse("", type, [{
            "code": "withheld", "pointer": place, "found": f"a value that {hit.policy_ref} withholds, where none can be masked", "fix": "use another value",
        }])

    def _event(self, type: str, data: Mapping[str, Any], ids: Ids) -> Dict[str, Any]:
        now = time.time_ns()
        at = datetime.datetime.fromtimestamp(now // 1_000_000_000, datetime.timezone.utc)
        event: Dict[str, Any] = {
            "specversion": "1.0", "id": uuid7(), "source": self.source, "type": f"dev.ctxledger.{type}.v1",
            "time": f"{at:%Y-%m-%dT%H:%M:%S}.{now % 1_000_000_000:09d}Z", "runtimeid": self.runtime, "datacontenttype": "application/json",
            "dataschema": f"urn:ctxledger:schema:{type}:v1",
        }
        record = data.get(RECORD_MEMBERS.get(type, ""))
        if record:
            event["subject"] = str(record)
        if ids.get("sessionid"):
            event["partitionkey"] = ids["sessionid"]
        event.update((name, ids[name]) for name in IDS if ids.get(name))
        event["data"] = data
        return event

    def _report_loss(self, session: str) -> None:
        sequences, ids = self._lost.pop(session, (None, None))
        if sequences is None or ids is None:
            return
        ranges: List[List[int]] = []
        for n in sequences:
            if ranges and ranges[-1][1] == n - 1:
                ranges[-1][1] = n
            else:
                ranges.append([n, n])
        fact = {
            "drop_id": f"drop:{uuid7()}", "count": len(sequences), "reason": "the queue was full", "sequences": [{"source": self.source, "ranges": ranges}],
        }
        self._add(self._event("context.facts.dropped", data_of("context.facts.dropped", fact), ids), sequences[0])  # the loss takes the first lost sequence

    def _add(self, event: Dict[str, Any], sequence: int) -> bool:
        event["sequence"] = f"{sequence:012d}"
        try:
            document = encoded(event)
        except (TypeError, ValueError, RecursionError) as error:
            found = f"a value that JSON cannot encode ({type(error).__name__})"  # the error may quote the value
            self._refuse(event["id"], event["type"], [{"code": "not_json", "pointer": "/data", "found": found, "fix": "pass values that JSON can encode"}])
            return False
        self._buffer.append(document)
        self._bytes += len(document)
        self._events += 1
        if self._due is None:
            self._due = time.monotonic() + self.linger
            self._begin()
            self._changed.notify_all()
        if len(self._buffer) >= self.max_batch or self._bytes > 2 << 20:
            self._due = 0
            self._changed.notify_all()
        return True

    def _begin(self) -> None:
        if not self._threads:
            for target in (self._cut_all, self._send_all):
                self._threads.append(threading.Thread(target=target, name="ctxledger", daemon=True))
                self._threads[-1].start()

    def _cut_all(self) -> None:
        """_cut_all makes batches of the buffer, and keeps them in the outbox."""
        while True:
            with self.lock:
                while not self._buffer or (self._due or 0) > time.monotonic():
                    if self._closed and not self._buffer:
                        return
                    wait = None if self._due is None else self._due - time.monotonic()
                    if not self._changed.wait(min(TOUCH, wait) if wait is not None else TOUCH) and self._outbox:
                        self._outbox.touch()
                documents, self._buffer = self._buffer[:self.max_batch], self._buffer[self.max_batch:]
                self._bytes = sum(map(len, self._buffer))
                self._due = time.monotonic() + self.linger if self._buffer else None
                self._cutting = len(documents)
            name = None
            if self._outbox:
                try:
                    name = self._outbox.keep(documents)
                except OSError as error:
                    with self.lock:
                        self._fail(f"the outbox did not keep {len(documents)} events: {error}")
            with self.lock:
                self._queue.append(_Batch(documents, name))
                self._unkept += name is None
                self._cutting = 0
                self._changed.notify_all()

    def _send_all(self) -> None:
        delay = 0.1
        while True:
            with self.lock:
                while not self._queue and not self._closed and (self._asking is None or self._asking > time.monotonic()):
                    self._changed.wait(None if self._asking is None else self._asking - time.monotonic())
                if self._closed:
                    return
                batch = self._queue[0] if self._queue else None
                if batch is None:
                    self._asking = None
            if batch is None:
                self._ask()
                continue
            if batch.documents is None:
                self._load(batch)
                if batch.documents is None:
                    continue
            try:
                wait = self._attempt(batch)
            except (OSError, http.client.HTTPException) as error:
                self._connection = None
                with self.lock:
                    no_gateway = isinstance(error, ConnectionRefusedError) and not self._nats
                    self._fail(f"{self._place}: {error}" + (f"; {NO_GATEWAY}" if no_gateway else ""))
                wait = 0.0
            if not batch.documents:
                if batch.name and self._outbox:
                    self._outbox.remove(batch.name)
                with self.lock:
                    self._queue.popleft()
                    self._unkept -= batch.name is None
                    self.error = None
                    if self._receipts is not None and self._asking is None:
                        self._asking = time.monotonic() + self._receipts
                    self._changed.notify_all()
                delay = 0.1
            elif wait is not None:  # a smaller batch goes at once
                end = time.monotonic() + max(wait, delay * (0.5 + random.random()))
                delay = min(2 * delay, 5.0)
                with self.lock:
                    while not self._closed and time.monotonic() < end:
                        self._changed.wait(max(0.001, end - time.monotonic()))

    def _load(self, batch: _Batch) -> None:
        assert self._outbox and batch.name
        try:
            batch.documents = self._outbox.read(batch.name)
        except (OSError, ValueError) as error:
            with self.lock:
                self._fail(f"the outbox has a batch that cannot be read, now {batch.name}.unreadable: {error}")
                self._queue.popleft()
                self._changed.notify_all()
            try:
                self._outbox.set_aside(batch.name)
            except OSError:
                pass  # the next process tries again

    def receipts(self) -> int:
        """receipts asks which stored events the projector has quarantined since the last question,
        logs and counts them, and returns their number. An event is quarantined up to some seconds
        after it was stored. Its errors are those of the connection."""
        if self._nats:
            return self._hear(self._nats.notices())
        address, found = urlsplit(self.url), 0
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=10)
        try:
            while True:
                headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
                connection.request("GET", f"{address.path}/v1/receipts?after={self._after}&source={quote(self.source, safe='')}", None, headers)
                response = connection.getresponse()
                body = response.read()
                if response.status != 200:
                    return found  # a server without receipts, or one that is not ready
                answer = json.loads(body)
                with self.lock:
                    self._after = max(self._after, answer["next"])
                found += self._hear(answer["notices"])
                if not answer["more"]:
                    return found
        finally:
            connection.close()

    def _hear(self, notices: List[Dict[str, Any]]) -> int:
        """_hear counts and logs notices, and returns their number."""
        with self.lock:
            for n in notices:
                self.quarantined += 1
                self.notices.append(Notice(*(n.get(name, "") for name in Notice._fields)))
                self._say(f"ctxledger quarantined {n.get('type')} {n.get('id')}: {n.get('code')} at {n.get('pointer')}; {n.get('fix', '')}")
        return len(notices)

    def _ask(self) -> None:
        try:
            self.receipts()
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            pass  # the next stored event asks again

    def _post(self, body: bytes) -> Tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/cloudevents-batch+json", "Content-Encoding": "gzip"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        address = urlsplit(self.url)
        for fresh in (False, True):
            reused = self._connection
            if reused is None or fresh:
                kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
                self._connection = reused = kind(address.hostname or "", address.port, timeout=30)
                fresh = True
            try:
                reused.request("POST", address.path + "/v1/events", body, headers)
                response = reused.getresponse()
                return response.status, response.headers, response.read()
            except (OSError, http.client.HTTPException):
                reused.close()
                self._connection = None
                if fresh:
                    raise
        raise AssertionError("unreachable")

    def _attempt(self, batch: _Batch) -> Optional[float]:
        """_attempt sends a batch and removes the events that were answered. The result is the time
        to wait before the next attempt, or None."""
        documents = batch.documents or []
        part = documents[:batch.most or self.max_batch]
        if self._nats:
            verdicts = self._nats.send(part)
            with self.lock:
                if self._judge(batch, part, verdicts):
                    return None
                self._fail(f"{self._place}: {next(v['error'] for v in verdicts if 'error' in v)}")
            return 0.0
        status, headers, body = self._post(gzip.compress(b"[" + b",".join(part) + b"]", 1))
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        if not isinstance(answer, dict):
            answer = {}
        verdicts = answer.get("events")
        with self.lock:
            if isinstance(verdicts, list) and len(verdicts) == len(part):
                if self._judge(batch, part, verdicts):
                    return None
            elif status in (400, 413) and len(part) > 1:
                batch.most = (len(part) + 1) // 2
                return None
            elif status in (400, 413):
                self._judge(batch, part, [{"verdict": "refused", "violations": [answer]}])
                return None
            fix = NO_TOKEN if status in (401, 403) else answer.get("fix")
            self._fail(f"{self._place} answered {status}: {answer.get('detail', 'no problem document')}" + (f"; {fix}" if fix else ""))
        try:
            return float(headers.get("Retry-After") or 0)
        except ValueError:
            return 0.0

    def _judge(self, batch: _Batch, part: List[bytes], verdicts: List[Dict[str, Any]]) -> bool:
        """_judge removes the events with a verdict from a batch, and reports whether all of them have
        one."""
        rest = []
        for document, verdict in zip(part, verdicts):
            if verdict.get("verdict") == "stored":
                self.stored += 1
            elif verdict.get("verdict") == "refused":
                self._refuse_document(document, verdict.get("violations") or [])
            else:
                rest.append(document)
        batch.documents = rest + (batch.documents or [])[len(part):]
        if batch.counted:
            self._events -= len(part) - len(rest)
        return not rest

    def _refuse_document(self, document: bytes, violations: List[Dict[str, Any]]) -> None:
        event = json.loads(document)
        self._refuse(event.get("id", ""), event.get("type", ""), violations)

    def _refuse(self, id: str, type: str, violations: List[Dict[str, Any]]) -> None:
        self.refused += 1
        self.refusals.append(Refusal(id, type, violations))
        first = violations[0] if violations else {}
        self._say(f"ctxledger refused {type} {id}: {first.get('code')} at {first.get('pointer', '')}: {first.get('found') or first.get('detail')}; {first.get('fix')}")

    def _fail(self, message: str) -> None:
        if self.error != message:
            self._say(f"ctxledger: {message}; events wait")
        self.error = message

    def _say(self, line: str) -> None:
        try:
            self.log(line)
        except Exception:  # a log must not stop the facts
            pass

    @property
    def queued(self) -> int:
        """queued is the number of events that wait in memory."""
        return self._events

    def flush(self, timeout: float = 10.0) -> bool:
        """flush returns True when every recorded event was answered, or False when the time in
        seconds has passed. The events then still wait."""
        return self._await(lambda: not self._queue, timeout)

    def _await(self, done: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        with self.lock:
            while True:
                if self._buffer:
                    self._due = 0
                    self._changed.notify_all()
                if not self._buffer and not self._cutting and done():
                    return True
                if self._closed or time.monotonic() >= end:
                    return False
                self._changed.wait(max(0.001, end - time.monotonic()))

    def store(self) -> str:
        """store returns "stream" or "outbox" when all recorded events are there. It raises a
        TimeoutError otherwise."""
        if self.flush(self.stream_wait if self._outbox else 10.0):
            return "stream"
        if self._outbox and self._await(lambda: not self._unkept, 10.0):
            return "outbox"
        raise TimeoutError(self.error or "the events were not stored in time; they still wait")

    def close(self, timeout: float = 10.0) -> bool:
        """close sends what waits, ends the client, and reports whether all events were answered."""
        atexit.unregister(self.close)
        done = os.getpid() == self._process and self.flush(timeout)
        if not done and not self._closed and self._outbox and os.getpid() == self._process:
            self._await(lambda: not self._unkept, timeout)
        if done and self._asking is not None:
            self._ask()
        with self.lock:
            was, self._closed = self._closed, True
            if not done and not was and not self._outbox and os.getpid() == self._process:
                self._say(f"ctxledger: the client ends, and {self._events} events that are not stored are lost; an outbox keeps them")
            self._changed.notify_all()
        if self._outbox and not was and os.getpid() == self._process:
            for thread in self._threads:
                thread.join(1.0)
            self._outbox.close()
        if self._nats and not was and os.getpid() == self._process:
            self._nats.close()
        return done

    async def aflush(self, timeout: float = 10.0) -> bool:
        """aflush is flush that does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.flush, timeout)

    async def astore(self) -> str:
        """astore is store that does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.store)

    async def areceipts(self) -> int:
        """areceipts is receipts that does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.receipts)

    async def aclose(self, timeout: float = 10.0) -> bool:
        """aclose is close that does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.close, timeout)
