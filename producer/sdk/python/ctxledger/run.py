"""Runs, turns, calls and gaps. The helpers have the names of Go's package producer, and the same
decisions give the same facts."""
from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .facts import EventType, Fact
from .guard import Hit
from .key import utf8, uuid7
from .part import MAX_PART_BYTES, block_bytes, candidate_bytes, chunk, part_of, segment_bytes, text_bytes, too_many, truncation_bytes

if TYPE_CHECKING:
    from .client import Client

Ref = Union[str, Mapping[str, Any]]
_LOGGED = {"message": "message", "tool_call": "function_call", "tool_result": "function_call_output"}
_STRATEGIES = {
    "drop_retrieved": "defer_to_retrieval", "trim_messages": "truncate_middle", "summarize_messages": "summarize_oldest", "compact_tool_outputs": "custom",
}


@dataclass(frozen=True)
class Item:
    """Item is one piece of a window: its size and relations, and the text to send."""

    id: str
    tokens: int
    layer: Optional[str] = None
    role: Optional[str] = None
    kind: Optional[str] = None
    digest: Optional[str] = None
    redaction_state: Optional[str] = None
    text: str = field(default="", repr=False)
    estimator: Optional[str] = None


@dataclass(frozen=True)
class Receipt:
    """Receipt describes a sealed turn: the place that has it, the sequences of its facts as closed
    ranges, and the number of events that the client has seen refused."""

    context_id: str
    sequences: List[List[int]]
    stored: str
    refused: int


@dataclass
class Lineage:
    """Lineage is the last call of the calls that share a prompt cache."""

    last: Optional[float] = None
    layers: Dict[str, List[Tuple[str, int]]] = field(default_factory=dict)


@dataclass
class Log:
    """Log numbers the entries of a thread's item log, from 0."""

    next: int = 0
    tokens: int = 0
    positions: Dict[str, int] = field(default_factory=dict)
    pieces: Dict[bytes, List[Item]] = field(default_factory=dict)  # that adapters have seen, by content
    lineage: Lineage = field(default_factory=Lineage)


class Run:
    """Run is one run of a session. Client.run opens it."""

    def __init__(self, client: "Client", ids: Dict[str, Optional[str]], log: Log, lineage: Lineage, depth: int, max_depth: int) -> None:
        self.client, self.ids, self.log, self.lineage, self.depth, self.max_depth = client, ids, log, lineage, depth, max_depth

    @classmethod
    def open(
        cls, client: "Client", *, session: str, id: Optional[str] = None, thread: Optional[str] = None, agent: Optional[str] = None,
        resource: Optional[str] = None, task: Optional[str] = None, attempt: Optional[str] = None, max_depth: int = 0, **scope: Any,
    ) -> "Run":
        """open opens a root run. The thread defaults to the session. max_depth is the largest depth
        of children. Further arguments are members of context.scope.opened."""
        if not session:
            raise ValueError("a run needs a session")
        id, thread = id or uuid7(), thread or session
        ids: Dict[str, Optional[str]] = {
            "sessionid": session, "threadid": thread, "runid": id, "rootrunid": id, "agent": agent, "resourceid": resource, "taskid": task, "attemptid": attempt,
        }
        log = client.item_log(session, thread)
        run = cls(client, ids, log, log.lineage, 0, max_depth)
        run.record("context.scope.opened", {
            "run_id": id, "root_run_id": id, "thread_id": thread, "scope_kind": "agent", "depth": 0, "max_depth": max_depth, **scope,
        })
        return run

    def child(self, *, id: Optional[str] = None, thread: Optional[str] = None, agent: Optional[str] = None, **scope: Any) -> "Run":
        """child opens a run below this one. Thread and agent default to the parent's."""
        if self.depth >= self.max_depth:
            raise ValueError(f"the run allows a depth of {self.max_depth}; open it with a larger max_depth")
        id, above = id or uuid7(), self.ids["threadid"]
        thread = thread or above
        ids = {**self.ids, "threadid": thread, "runid": id, "parentrunid": self.ids["runid"], "agent": agent or self.ids["agent"]}
        run = Run(self.client, ids, self.client.item_log(str(ids["sessionid"]), str(thread)), Lineage(), self.depth + 1, self.max_depth)
        run.record("context.scope.opened", {
            "run_id": id, "parent_run_id": self.ids["runid"], "root_run_id": ids["rootrunid"], "thread_id": thread, "parent_thread_id": above,
            **({"thread_overridden": True} if thread != above else {}), "scope_kind": "subagent", "depth": run.depth, "max_depth": self.max_depth, **scope,
        })
        return run

    def record(self, type: EventType, fact: Union[Fact, Mapping[str, Any]]) -> bool:
        """record records any fact with the ids of the run."""
        return self.client.record(type, fact, self.ids)

    def turn(self, id: Optional[str] = None, *, model: Optional[str] = None, max_tokens: Optional[int] = None, reserved_output: int = 0) -> "Turn":
        """turn begins a turn. With max_tokens, the size of the model's window, Call.select records
        the budget too."""
        return Turn(self, id or uuid7(), model, max_tokens, reserved_output)


class Turn:
    """Turn is one user turn. It collects the list of its facts for the seal."""

    def __init__(self, run: Run, id: str, model: Optional[str], max_tokens: Optional[int], reserved_output: int) -> None:
        self.run, self.client, self.id = run, run.client, id
        self.model, self.max_tokens, self.reserved_output = model, max_tokens, reserved_output
        self.ids: Dict[str, Optional[str]] = {**run.ids, "turnid": id, "contextid": f"ctx:{id}"}
        self.sealed = False
        self._used: List[List[int]] = []
        self._refs: Dict[str, List[Any]] = {}
        self._budget: Optional[str] = None

    def record(self, type: EventType, fact: Union[Fact, Mapping[str, Any]], **more: Optional[str]) -> bool:
        """record records any fact with the ids of the turn, and its record in the seal. More are
        further ids, such as toolcallid."""
        with self.client.lock:
            if self.sealed:
                raise RuntimeError("the turn is sealed")
            queued = self.client.record(type, fact, {**self.ids, **more}, self._use)
            entry = _SEALED.get(type)
            if queued and type == "context.budget.applied":
                self._budget = fact["budget_id"]  # type: ignore[typeddict-item]
            elif queued and entry:
                refs, id = self._refs.setdefault(entry[0], []), fact[entry[1]]  # type: ignore[literal-required]
                if not refs or refs[-1] != id:
                    refs.append(id)
            return queued

    def _use(self, sequence: int) -> None:
        if self._used and self._used[-1][1] == sequence - 1:
            self._used[-1][1] = sequence
        else:
            self._used.append([sequence, sequence])

    def add(
        self, id: str, text: str = "", *, kind: Optional[str] = None, role: Optional[str] = None, layer: Optional[str] = None,
        tokens: Optional[int] = None, estimator: str = "stated", tool_call_id: Optional[str] = None, name: Optional[str] = None,
        call_id: Optional[str] = None, context_kind: Optional[str] = None, policy_refs: Sequence[Ref] = (), **item: Any,
    ) -> Item:
        """add records a piece of content as an item, and an entry of the item log for a message, a
        tool_call and a tool_result. The text is masked, sized and digested, and stays in the process:
        send the text of the result to the model. Without tokens, by the model's tokenizer, the size
        is an estimate and says so. Further arguments are members of context.item.added."""
        client, more = self.client, {"toolcallid": tool_call_id} if tool_call_id else {}
        with client.lock:
            text, hits = client.guard.mask(text)
            refs = list(policy_refs)
            if hits:
                item = {"redaction_state": "masked", "redaction_reason": hits[0].reason, **item}
                refs += [ref for ref in dict.fromkeys(hit.policy_ref for hit in hits) if ref not in refs]
                for fact in client.redactions(id, id, {hit: ["content"] for hit in hits}):
                    self.record("context.redaction.applied", fact if call_id is None else {**fact, "call_id": call_id}, **more)
            size = len(utf8(text))
            if tokens is None:
                tokens, estimator = (size + 3) // 4, "bytes/4"
            fact = {
                "item_id": id, "context_kind": context_kind or ("computed_summary" if kind == "summary" else "message"),
                "content_mode": "summary" if kind == "summary" else "opaque", "visibility": ["model"], "layer": layer, "role": role, "byte_size": size,
                "content_digest": client.key.digest(text) if client.key else None, "token_estimate": tokens, "estimator": estimator,
                "policy_refs": refs or None, **item,
            }
            self.record("context.item.added", fact, **more)
            if kind in _LOGGED:
                log = self.run.log
                entry = {
                    "log_item_id": id, "log_id": self.ids["threadid"], "item_type": _LOGGED[kind], "position": log.next, "role": role, "name": name,
                    "tool_call_id": tool_call_id, "call_id": call_id, "item_ref": id, "tokens": tokens, "byte_size": size,
                    "content_digest": fact["content_digest"],
                }
                if self.record("context.log.appended", entry, **more):
                    log.positions[id] = log.next
                    log.next, log.tokens = log.next + 1, log.tokens + tokens
        return Item(id, tokens, layer, role, kind, fact["content_digest"], fact.get("redaction_state"), text, estimator)

    def redact(self, target_ref: str, value: str, *, policy_ref: str, reason: str) -> None:
        """redact withholds a value from now on, and records its redaction in the target."""
        self.client.guard.withhold(value, policy_ref=policy_ref, reason=reason)
        for fact in self.client.redactions(target_ref, target_ref, {Hit(value, policy_ref, reason): ["content"]}):
            self.record("context.redaction.applied", fact)

    def missing(self, *, question: str, requested_from: str, requested_action: str, user_summary: str, missing_id: Optional[str] = None, **gap: Any) -> "Gap":
        """missing records a known gap and the request to its owner. The summary is shown to users,
        and must hold no secret. Further arguments are members of context.missing.detected."""
        fact = {
            "missing_id": missing_id or uuid7(), "question": question, "requested_from": requested_from, "requested_action": requested_action,
            "user_summary": user_summary, **gap,
        }
        with self.client.lock:
            self.record("context.missing.detected", {**fact, "status": "open"})
            self.record("context.missing.requested", {**fact, "status": "requested"})
        return Gap(self, {name: fact.get(name) for name in ("missing_id", "scope", "call_id", "question", "requested_from", "user_summary")})

    def call(self, id: Optional[str] = None, **ids: Optional[str]) -> "Call":
        """call begins a model call. Its facts have the further ids."""
        return Call(self, id or uuid7(), ids)

    def seal(self) -> Receipt:
        """seal records the turn's envelope as its last fact, and returns when the turn is stored in
        the stream, or in the outbox. It raises a TimeoutError if neither has the turn in time; the
        turn is then sealed and waits."""
        with self.client.lock:
            if not self.sealed and not self.client.record("context.envelope.created", self._envelope, self.ids, self._use):
                raise RuntimeError(self.client.error or "the queue is full, or the guard refused an id; the turn is not sealed")
            self.sealed = True
        stored = self.client.store()
        return Receipt(str(self.ids["contextid"]), [list(r) for r in self._used], stored, self.client.refused)

    async def aseal(self) -> Receipt:
        """aseal is seal that does not block the event loop."""
        return await asyncio.get_running_loop().run_in_executor(None, self.seal)

    def _envelope(self, sequence: int) -> Dict[str, Any]:
        ranges = [list(r) for r in self._used]
        if ranges and ranges[-1][1] == sequence - 1:
            ranges[-1][1] = sequence
        else:
            ranges.append([sequence, sequence])
        seal: Dict[str, Any] = {
            "context_id": self.ids["contextid"], "scope": "turn", "lifecycle": "injected", "producer": self.client.source,
            "runtime_refs": [{"kind": "turn", "id": self.id}], "budget_ref": self._budget, "sequences": [{"source": self.client.source, "ranges": ranges}],
        }
        if self.client.fits("context.envelope.created", {**seal, **self._refs}):
            return {**seal, **self._refs}
        return {**seal, "metadata": {"refs_left_out": sum(map(len, self._refs.values()))}}


# The list of a seal that names a fact's record, and the fact's member.
_SEALED = {
    "context.surface.created": ("surface_refs", "surface_id"), "context.item.added": ("item_refs", "item_id"),
    "context.selection.completed": ("selection_refs", "selection_id"), "context.assembly.created": ("assembly_refs", "assembly_id"),
    "context.injection.applied": ("injection_refs", "injection_id"), "context.compaction.completed": ("compaction_refs", "compaction_id"),
    "context.missing.detected": ("missing_context_refs", "missing_id"),
}


class Call:
    """Call is one model call of a turn."""

    def __init__(self, turn: Turn, id: str, ids: Mapping[str, Optional[str]] = {}) -> None:
        self.turn, self.id, self.ids = turn, id, dict(ids)
        self._budget: Optional[str] = None
        self._window: Optional[List[Item]] = None  # of the assembly for the model

    def record(self, type: EventType, fact: Union[Fact, Mapping[str, Any]]) -> bool:
        """record records any fact with the ids of the call."""
        return self.turn.record(type, fact, **self.ids)

    def select(
        self, candidates: Sequence[Item], *, omitted: Iterable[Mapping[str, Any]] = (), scores: Optional[Mapping[str, Mapping[str, Any]]] = None,
        pressure: Iterable[Mapping[str, Any]] = (), pressure_policy: Optional[Mapping[str, Any]] = None, surface: Optional[Mapping[str, Any]] = None,
        **selection: Any,
    ) -> List[Item]:
        """select records the candidates, in the order of the window, and the decision: each is
        selected, or omitted with a reason. It returns the selected ones. Omitted are mappings with id,
        reason and perhaps note; scores are score and signals by id. Pressure are the rungs of the
        ladder that ran: step, name, outcome, item_refs, tokens_before, tokens_after. If the turn has a
        window, its budget is recorded too. Further arguments are members of
        context.selection.completed."""
        turn, model = self.turn, self.turn.model
        out = {str(o.get("id")): o for o in omitted}
        unknown = out.keys() - {c.id for c in candidates}
        if unknown:
            raise ValueError(f"the omitted {sorted(unknown)[0]!r} is no candidate")
        refs = [c.id for c in candidates]
        self._budget = f"budget:{self.id}" if turn.max_tokens else None
        window = [c for c in candidates if c.id not in out]
        rungs = [dict(rung) for rung in pressure]
        policy = (pressure_policy or {}).get("name")
        with turn.client.lock:
            parts = chunk(refs, text_bytes)
            for i, part in enumerate(parts):
                about = dict(surface or {}) if i == 0 else _given(surface or {}, "visibility")
                self.record("context.surface.created", {
                    "surface_id": f"surface:{self.id}", "scope": "turn", "surface_kind": "model_call", "visibility": ["model"], **about,
                    "available_item_refs": part, "metadata": _joined(about.get("metadata"), part_of(i, len(parts))),
                })
            rank, known = 0, scores or {}
            of_candidates = chunk(candidates, lambda c: candidate_bytes(c.id, known.get(c.id, {}), out.get(c.id)))
            for i, some in enumerate(of_candidates):
                chosen, left = [], []
                for c in some:
                    decision = {"item_ref": c.id, **_given(known.get(c.id, {}), "score", "signals"), "tokens": c.tokens}
                    if c.id in out:
                        left.append({**decision, **_given(out[c.id], "reason", "note")})
                    else:
                        rank += 1
                        chosen.append({**decision, "rank": rank})
                self.record("context.selection.completed", {
                    "selection_id": f"selection:{self.id}", "surface_id": f"surface:{self.id}", "call_id": self.id, "model_ref": model,
                    "candidate_item_refs": [c.id for c in some], "selected_item_refs": chosen, "omitted_item_refs": left or None, "selection_policy": policy,
                    "budget_ref": self._budget, **(selection if i == 0 else {}), **(part_of(i, len(of_candidates)) or {}),
                })
            for rung in rungs:
                parts = chunk(rung.get("item_refs") or [], text_bytes)
                for i, part in enumerate(parts):
                    about = rung if i == 0 else _given(rung, "step", "name", "outcome")
                    self.record("context.pressure.applied", {
                        "pressure_id": f"pressure:{self.id}:{rung['step']}", "call_id": self.id, "policy": policy, "model": model, **about,
                        "item_refs": part or None, "metadata": _joined(about.get("metadata"), part_of(i, len(parts))),
                    })
            if turn.max_tokens:
                self._record_budget(candidates, window, out, rungs, pressure_policy)
        return window

    def _record_budget(
        self, candidates: Sequence[Item], window: List[Item], out: Mapping[str, Any], rungs: List[Dict[str, Any]], policy: Optional[Mapping[str, Any]],
    ) -> None:
        turn, sizes = self.turn, {c.id: c.tokens for c in candidates}
        actual, limit = sum(c.tokens for c in window), (self.turn.max_tokens or 0) - self.turn.reserved_output
        changed = [rung for rung in rungs if rung.get("outcome") != "skipped" and rung.get("item_refs")]
        truncated = [
            {"item_ref": id, "strategy": rung["name"], "tokens_before": sizes[id], "tokens_after": 0, **_given(out[id], "reason")}
            for rung in changed for id in rung["item_refs"] if id in out
        ]
        estimators = {c.estimator for c in candidates}
        parts, segments = chunk(truncated, truncation_bytes, MAX_PART_BYTES // 2), _segments(window)
        fits = sum(map(segment_bytes, segments)) <= MAX_PART_BYTES // 2
        if not fits:  # the assembly has the items
            segments = [{name: value for name, value in s.items() if name != "item_refs"} for s in segments]
        same = {"budget_id": f"budget:{self.id}", "call_id": self.id, "target": "model", "model": turn.model}
        self.record("context.budget.applied", {
            **same,
            "estimator": estimators.pop() if len(estimators) == 1 else None, "max_tokens": turn.max_tokens, "reserved_tokens": turn.reserved_output,
            "estimated_prompt_tokens": sum(sizes.values()), "actual_tokens": actual, "actual_items": len(window),
            "overflow_strategy": "reject" if actual > limit else _STRATEGIES.get(changed[-1]["name"]) if changed else None,
            "pressure_policy": policy if rungs else None, "window_segments": segments, "truncation_records": parts[0] or None,
            "metadata": _joined(None if fits else {"segment_item_refs": "left_out"}, part_of(0, len(parts))),
        })
        for i, part in enumerate(parts[1:], 1):
            self.record("context.budget.applied", {**same, "truncation_records": part, "metadata": part_of(i, len(parts))})

    def assemble(self, items: Sequence[Item], *, target: str = "model", **assembly: Any) -> Dict[str, Any]:
        """assemble records the ordered blocks of the window, and returns the assembly. The blocks are
        the items that select, or add, returned."""
        id = self.id if target == "model" else f"{self.id}:{target}"
        blocks = [
            {name: value for name, value in (
                ("block", f"block:{id}:{n}"), ("item_refs", [item.id]), ("position", n), ("layer", item.layer), ("role", item.role), ("tokens", item.tokens),
                ("visibility", [target]), ("digest", item.digest), ("redaction_state", item.redaction_state),
            ) if value is not None}
            for n, item in enumerate(items)
        ]
        fact = {
            "fidelity": "stated", "assembly_id": f"assembly:{id}", "call_id": self.id, "target": target, "budget_ref": self._budget, "visibility": [target],
            "ordered_blocks": blocks, "source_item_refs": [item.id for item in items], **assembly,
        }
        parts, queued = chunk(blocks, block_bytes), True
        with self.turn.client.lock:
            for i, part in enumerate(parts):
                own = {} if len(parts) == 1 else {
                    "ordered_blocks": part, "source_item_refs": [b["item_refs"][0] for b in part], "metadata": _joined(fact.get("metadata"), part_of(i, len(parts))),
                }
                queued = self.record("context.assembly.created", {**fact, **own}) and queued
        if queued and target == "model":
            self._window = list(items)
        return fact

    def inject(self, assembly: Mapping[str, Any], injection_point: str) -> None:
        """inject records that an assembly became visible to its target."""
        blocks = assembly["ordered_blocks"]
        states = {block.get("redaction_state") for block in blocks}
        self.record("context.injection.applied", {
            "injection_id": assembly["assembly_id"].replace("assembly:", "inject:", 1), "call_id": self.id, "assembly_id": assembly["assembly_id"],
            "target": assembly["target"], "injection_point": injection_point, "injection_kind": "window",
            **({"item_refs": assembly["source_item_refs"]} if len(chunk(assembly["source_item_refs"], text_bytes)) == 1 else {"metadata": {"item_refs": "of_assembly"}}),
            "tokens": sum(block["tokens"] for block in blocks) if all("tokens" in block for block in blocks) else None,
            "redaction_state": states.pop() if len(states) == 1 else None, "digest": blocks[0].get("digest") if len(blocks) == 1 else None,
        })

    def usage(self, *, more: Optional[Mapping[str, Any]] = None, **usage: Any) -> None:
        """usage records the provider's bill of the call, in disjoint buckets such as
        uncached_input_tokens, and the assembled window by layer and by use. A bucket that the
        provider did not report stays out. More are members of context.usage.recorded."""
        turn, run = self.turn, self.turn.run
        fact: Dict[str, Any] = {"fidelity": "stated", "call_id": self.id, "model": turn.model}
        with turn.client.lock:
            lineage, now, layers = run.lineage, time.time(), None
            if self._window is not None:
                layers = {}
                for item in self._window:
                    layers.setdefault(item.layer or "", []).append((item.id, item.tokens))
                fact.update(self._sizes(self._window, layers, lineage, now))
            fact["usage"] = usage
            if self.record("context.usage.recorded", {**fact, **(more or {})}) and layers is not None:
                lineage.last, lineage.layers = now, layers

    def _sizes(self, window: List[Item], layers: Dict[str, List[Tuple[str, int]]], lineage: Lineage, now: float) -> Dict[str, Any]:
        run, log = self.turn.run, self.turn.run.log
        uses = {"system_tokens": 0, "tools_tokens": 0, "history_tokens": 0}
        for item in window:
            if item.kind == "retrieved":
                continue
            spoken = item.kind in ("message", "tool_call", "tool_result", "summary", "stub")
            if spoken and (item.role not in ("system", "developer") or item.kind == "summary"):
                uses["history_tokens"] += item.tokens
            else:
                uses["tools_tokens" if item.layer == "tools" else "system_tokens"] += item.tokens
        estimators = {item.estimator for item in window}
        positions = [log.positions[item.id] for item in window if item.id in log.positions]
        sizes: Dict[str, Any] = {
            **uses, "total_tokens": sum(item.tokens for item in window), "estimator": estimators.pop() if len(estimators) == 1 else None,
            "layers": [
                {"layer": layer, "tokens": sum(tokens for _, tokens in items), "items": len(items),
                 **({} if lineage.last is None else {"changed": lineage.layers.get(layer) != items})}
                for layer, items in layers.items()
            ],
            "gap_seconds": None if lineage.last is None or now < lineage.last else now - lineage.last,
            "lineage_id": f"t:{run.ids['threadid']}" if run.depth == 0 else f"x:{run.ids['runid']}", "assembly_id": f"assembly:{self.id}",
            "window_next_position": log.next, "metadata": {"log_tokens": log.tokens},
        }
        if positions:
            sizes["window_first_position"] = min(positions)
            sizes["metadata"]["entries_not_in_window"] = log.next - min(positions) - len(positions)
        return sizes

    def compact(self, window: Sequence[Item], source: Sequence[str], **compaction: Any) -> "OpenCompaction":
        """compact records the start of a compaction: a summary is to replace the items of the window
        whose ids are in source. End it with complete, fail or discard. Lists of items that are too long
        for one event are left out, and the metadata says so; the source window still names the ends."""
        named = [item for item in window if item.id in set(source)]
        if not named or len(named) != len(source):
            raise ValueError("the source of a compaction is empty, or names an item twice or one that is not in the window")
        last, positions = max(n for n, item in enumerate(window) if item.id == named[-1].id), self.turn.run.log.positions
        fact: Dict[str, Any] = {
            "compaction_id": f"compaction:{self.id}", "call_id": self.id, "scope": "thread", "method": "abstractive_summary", "trigger": "token_pressure",
            "source_item_refs": [item.id for item in named], "tokens_before": sum(item.tokens for item in window),
            "source_window": {name: value for name, value in (
                ("thread_id", self.turn.ids["threadid"]), ("first_item_ref", named[0].id), ("last_item_ref", named[-1].id),
                ("first_position", positions.get(named[0].id)), ("last_position", positions.get(named[-1].id)),
                ("item_count", len(named)), ("tokens", sum(item.tokens for item in named)),
            ) if value is not None},
            "replacement_policy": "replace_window", "retained_tail_refs": [item.id for item in window[last + 1:]] or None, **compaction,
        }
        for name in ("source_item_refs", "retained_tail_refs"):
            if too_many(fact.get(name) or []):
                fact[name] = [] if name == "source_item_refs" else None  # the first one is required
                fact["metadata"] = {**(fact.get("metadata") or {}), name: "left_out"}
        self.record("context.compaction.started", fact)
        return OpenCompaction(self.turn, fact, list(window), named)


class OpenCompaction:
    """OpenCompaction is a compaction that has started. It ends once."""

    def __init__(self, turn: Turn, fact: Dict[str, Any], window: List[Item], source: List[Item]) -> None:
        self.turn, self.fact, self._window, self._source = turn, fact, window, source
        self._ended = False

    def complete(
        self, id: str, text: str, *, call_id: Optional[str] = None, loss_notes: Optional[List[str]] = None, open_questions: Optional[List[str]] = None,
        goal_refs: Optional[List[Ref]] = None, coverage: Optional[Mapping[str, Any]] = None, validation: Any = None, **content: Any,
    ) -> List[Item]:
        """complete records the summary, as an item and as a summary, and its replacement of the
        source. It returns the window after it. Content are arguments of Turn.add."""
        with self.turn.client.lock:
            self._end()
            item = self.turn.add(id, text, kind="summary", call_id=call_id, **{"role": "system", "layer": "summary", **content})
            covered = [self.turn.run.log.positions[s.id] for s in self._source if s.id in self.turn.run.log.positions]
            refs = [s.id for s in self._source]
            many = too_many(refs)
            self.turn.record("context.summary.created", {
                "summary_id": id, "summary_kind": "thread_summary", "content_digest": item.digest, "tokens": item.tokens, "byte_size": len(utf8(item.text)),
                "source_item_refs": [refs[0], refs[-1]] if many else refs, "metadata": {"source_item_refs": "first_and_last"} if many else None,
                "covers_through_position": max(covered, default=None), "loss_notes": loss_notes,
                "open_questions": open_questions, "goal_refs": goal_refs, "summarizer_call_id": call_id,
            })
            replaced = {s.id for s in self._source}
            after = [item if w.id == self._source[0].id else w for w in self._window if w.id not in replaced or w.id == self._source[0].id]
            self.turn.record("context.compaction.completed", {
                **self.fact, "summary_ref": id, "summarizer_call_id": call_id, "coverage": coverage, "loss_notes": loss_notes, "validation": validation,
                "tokens_after": sum(w.tokens for w in after),
            })
        return after

    def fail(self, reason: str, **outcome: Any) -> None:
        """fail records why there is no summary. The reason quotes no content."""
        with self.turn.client.lock:
            self._end()
            self.turn.record("context.compaction.failed", {**self.fact, "reason": reason, **outcome})

    def discard(self, reason: str, **outcome: Any) -> None:
        """discard records that a written summary is not used. The reason quotes no content."""
        with self.turn.client.lock:
            self._end()
            self.turn.record("context.compaction.discarded", {**self.fact, "reason": reason, **outcome})

    def _end(self) -> None:
        if self._ended:
            raise RuntimeError("the compaction has ended")
        self._ended = True


class Gap:
    """Gap is missing context that was requested from its owner."""

    def __init__(self, turn: Turn, fact: Dict[str, Any]) -> None:
        self.turn, self.id = turn, str(fact["missing_id"])
        self._fact, self._closed = fact, False

    def resolve(self, *resolution_refs: Ref) -> None:
        """resolve records what filled the gap."""
        if not resolution_refs:
            raise ValueError("a resolution names the records that filled the gap")
        self._end({"status": "resolved", "resolution_refs": list(resolution_refs)})

    def withdraw(self, status: str) -> None:
        """withdraw records that the gap ended unfilled: its owner declined, or it has expired."""
        if status not in ("declined", "expired"):
            raise ValueError("the status is declined or expired")
        self._end({"status": status})

    def _end(self, outcome: Mapping[str, Any]) -> None:
        with self.turn.client.lock:
            if self._closed:
                raise RuntimeError("the gap is closed")
            fact = {**self._fact, **outcome}
            if self.turn.sealed:
                self.turn.run.record("context.missing.resolved", fact)
            else:
                self.turn.record("context.missing.resolved", fact)
            self._closed = True


def _segments(window: Sequence[Item]) -> List[Dict[str, Any]]:
    """_segments groups a window by layer, in the order of the layers' first items."""
    layers: Dict[str, Dict[str, Any]] = {}
    for item in window:
        layer = item.layer or ""
        s = layers.setdefault(layer, {"segment": layer, "layer": layer, "role": item.role, "actual": 0, "item_refs": [], "order": len(layers)})
        s["actual"] += item.tokens
        s["item_refs"].append(item.id)
        if s["role"] != item.role:
            s["role"] = None
    return [{name: value for name, value in s.items() if value is not None} for s in layers.values()]


def _joined(*all: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """_joined returns metadata with the members of each mapping, or None without any."""
    return {name: value for some in all if some for name, value in some.items()} or None


def _given(values: Mapping[str, Any], *names: str) -> Dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) is not None}
