# Generated from the JSON Schemas of the contract by `go generate ./producer/sdk`. Do not edit.
from __future__ import annotations

from typing import Any, List, Literal, Mapping, TypedDict, Union


class _AssemblyCreated(TypedDict):
    # id of the record
    assembly_id: str
    # blocks in the order of the window; with a base, those after the kept ones
    ordered_blocks: List["Block"]
    # the target that receives it, such as model
    target: str


class AssemblyCreated(_AssemblyCreated, total=False):
    "AssemblyCreated records the ordered blocks for one target. InjectionApplied records that the blocks became visible. A whole assembly has all blocks of its window. An assembly with a base has the blocks after the first Keep blocks of the base. Positions of blocks count from the begin of the window. A chain of bases ends at a whole assembly after at most MaxAssemblyChain assemblies."

    # the assembly whose first blocks begin this window
    base_assembly_id: str
    # the budget in force
    budget_ref: "Ref"
    # the model call of the record
    call_id: str
    # whether the record has everything that the model received. Known words: complete, partial. Other words are kept.
    coverage: str
    # why the coverage is partial. Known words: system_unknown, tools_unknown, entries_missing, slice_missing, base_missing, chain_too_long, call_missing, digest_mismatch, opaque_blocks, truncated, previous_unobserved, user_returned. Other words are kept.
    coverage_reasons: List[str]
    # the standard's name of the event
    event_type: Literal["context.assembly.created"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how the record is known. Known words: wire, serialized, stated, reported, reconstructed. Other words are kept.
    fidelity: str
    # number of blocks of the base that begin this window
    keep: int
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # version of the Agent Context standard
    schema_version: str
    # how blocks are separated
    separator_policy: "Ref"
    # items of the assembly
    source_item_refs: List["Ref"]
    # spans and traces
    telemetry_refs: List["Ref"]
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]
    # how items are wrapped
    wrapping_policy: "Ref"


class _BudgetApplied(TypedDict):
    # id of the record
    budget_id: str
    # the target that receives it, such as model
    target: str


class BudgetApplied(_BudgetApplied, total=False):
    "BudgetApplied records the window of one call: its limits and its content."

    # bytes put into the window
    actual_bytes: int
    # items put into the window
    actual_items: int
    # tokens put into the window
    actual_tokens: int
    # the model call of the record
    call_id: str
    # tokens of the prompt before the budget was applied
    estimated_prompt_tokens: int
    # the estimator that counted the tokens
    estimator: str
    # the standard's name of the event
    event_type: Literal["context.budget.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # limit of the window in bytes
    max_bytes: int
    # limit of the window in items
    max_items: int
    # limit of the window in tokens
    max_tokens: int
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the provider's name of the model
    model: str
    # how items that did not fit were handled. Known words: reject, truncate_tail, truncate_middle, summarize_oldest, summarize_low_priority, defer_to_retrieval, ask_for_choice, policy_block, custom. Other words are kept.
    overflow_strategy: str
    # policies that applied
    policy_refs: List["Ref"]
    # the rules that made the window fit
    pressure_policy: "PressureRules"
    # tokens kept free for the output
    reserved_tokens: int
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # items that were shortened or taken out to fit
    truncation_records: List["Truncation"]
    # the parts of the window, in order
    window_segments: List["Segment"]


class _CompactionCompleted(TypedDict):
    # id of the record; the same in all facts of the compaction
    compaction_id: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class CompactionCompleted(_CompactionCompleted, total=False):
    "CompactionCompleted records that a summary replaced its source window."

    # the model call of the record
    call_id: str
    # coverage of the summary, in the summariser's words and counts
    coverage: Mapping[str, Any]
    # the standard's name of the event
    event_type: Literal["context.compaction.completed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # goals in force before the compaction
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept.
    method: str
    # policies that applied
    policy_refs: List["Ref"]
    # why the compaction failed or was discarded
    reason: str
    # system state that was put back into the window
    reinjected: List["Reinjected"]
    # whether the summary replaces its source in the window
    replacement_policy: str
    # the latest items, which remain unchanged
    retained_tail_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the range of the item log that the summary covers
    source_window: "SourceWindow"
    # the model call that wrote the summary
    summarizer_call_id: str
    # the summary
    summary_ref: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int
    # the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept.
    trigger: str
    # whether and how the summary was checked
    validation: Any


class _CompactionDiscarded(TypedDict):
    # id of the record; the same in all facts of the compaction
    compaction_id: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class CompactionDiscarded(_CompactionDiscarded, total=False):
    "CompactionDiscarded records that a compaction produced a summary and discarded it. The compaction is never shown as a success."

    # the model call of the record
    call_id: str
    # coverage of the summary, in the summariser's words and counts
    coverage: Mapping[str, Any]
    # the standard's name of the event
    event_type: Literal["context.compaction.discarded"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # goals in force before the compaction
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept.
    method: str
    # policies that applied
    policy_refs: List["Ref"]
    # why the compaction failed or was discarded
    reason: str
    # system state that was put back into the window
    reinjected: List["Reinjected"]
    # whether the summary replaces its source in the window
    replacement_policy: str
    # the latest items, which remain unchanged
    retained_tail_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the range of the item log that the summary covers
    source_window: "SourceWindow"
    # the model call that wrote the summary
    summarizer_call_id: str
    # the summary
    summary_ref: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int
    # the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept.
    trigger: str
    # whether and how the summary was checked
    validation: Any


class _CompactionFailed(TypedDict):
    # id of the record; the same in all facts of the compaction
    compaction_id: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class CompactionFailed(_CompactionFailed, total=False):
    "CompactionFailed records that a compaction produced no summary. The window is unchanged."

    # the model call of the record
    call_id: str
    # coverage of the summary, in the summariser's words and counts
    coverage: Mapping[str, Any]
    # the standard's name of the event
    event_type: Literal["context.compaction.failed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # goals in force before the compaction
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept.
    method: str
    # policies that applied
    policy_refs: List["Ref"]
    # why the compaction failed or was discarded
    reason: str
    # system state that was put back into the window
    reinjected: List["Reinjected"]
    # whether the summary replaces its source in the window
    replacement_policy: str
    # the latest items, which remain unchanged
    retained_tail_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the range of the item log that the summary covers
    source_window: "SourceWindow"
    # the model call that wrote the summary
    summarizer_call_id: str
    # the summary
    summary_ref: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int
    # the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept.
    trigger: str
    # whether and how the summary was checked
    validation: Any


class _CompactionStarted(TypedDict):
    # id of the record; the same in all facts of the compaction
    compaction_id: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class CompactionStarted(_CompactionStarted, total=False):
    "CompactionStarted records the start of a compaction. The window is not replaced yet."

    # the model call of the record
    call_id: str
    # coverage of the summary, in the summariser's words and counts
    coverage: Mapping[str, Any]
    # the standard's name of the event
    event_type: Literal["context.compaction.started"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # goals in force before the compaction
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept.
    method: str
    # policies that applied
    policy_refs: List["Ref"]
    # why the compaction failed or was discarded
    reason: str
    # system state that was put back into the window
    reinjected: List["Reinjected"]
    # whether the summary replaces its source in the window
    replacement_policy: str
    # the latest items, which remain unchanged
    retained_tail_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the range of the item log that the summary covers
    source_window: "SourceWindow"
    # the model call that wrote the summary
    summarizer_call_id: str
    # the summary
    summary_ref: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int
    # the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept.
    trigger: str
    # whether and how the summary was checked
    validation: Any


class _ElisionApplied(TypedDict):
    # the items of the pass
    elided_item_refs: List["Elided"]
    # id of the record: the pass
    pass_id: str


class ElisionApplied(_ElisionApplied, total=False):
    "ElisionApplied records a pass that shortened items."

    # the model call of the record
    call_id: str
    # the standard's name of the event
    event_type: Literal["context.elision.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # tokens of the window before the first change
    first_changed_position: int
    # how much is left of an item. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept.
    level: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the policy that decided
    policy: str
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens of the elided items before the pass
    tokens_before: int
    # tokens that the pass saved
    tokens_saved: int
    # the cause that started the pass
    trigger: str


class _ElisionReloaded(TypedDict):
    # the items of the pass
    elided_item_refs: List["Elided"]
    # id of the record: the pass
    pass_id: str


class ElisionReloaded(_ElisionReloaded, total=False):
    "ElisionReloaded records elided items that were read again in full."

    # the model call of the record
    call_id: str
    # the standard's name of the event
    event_type: Literal["context.elision.reloaded"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # tokens of the window before the first change
    first_changed_position: int
    # how much is left of an item. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept.
    level: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the policy that decided
    policy: str
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens of the elided items before the pass
    tokens_before: int
    # tokens that the pass saved
    tokens_saved: int
    # the cause that started the pass
    trigger: str


class _EnvelopeCreated(TypedDict):
    # id of the record
    context_id: str
    # lifecycle state of the context. Known words: draft, available, selected, assembled, injected, compacted, redacted, expired, archived. Other words are kept.
    lifecycle: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class EnvelopeCreated(_EnvelopeCreated, total=False):
    "EnvelopeCreated seals a scope. EnvelopeCreated is a portable snapshot of the scope's records and of their sequences."

    # the actors that took part
    actor_refs: List["Ref"]
    # assemblies of the scope
    assembly_refs: List["Ref"]
    # the budget in force
    budget_ref: "Ref"
    # compactions of the scope
    compaction_refs: List["Ref"]
    # the standard's name of the event
    event_type: Literal["context.envelope.created"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # injections of the scope
    injection_refs: List["Ref"]
    # items of the scope
    item_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # known gaps of the scope
    missing_context_refs: List["Ref"]
    # policies that applied
    policy_refs: List["Ref"]
    # the program that recorded the scope
    producer: "Ref"
    # ids of runtime records that used the context, without their status
    runtime_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # selections of the scope
    selection_refs: List["Ref"]
    # sequences of the events, per source
    sequences: List["SequenceRanges"]
    # surfaces of the scope
    surface_refs: List["Ref"]
    # the scope's own tags
    tags: List[str]
    # spans and traces
    telemetry_refs: List["Ref"]


class _ErasureApplied(TypedDict):
    # keyed digest of the data subject whose content was erased; older facts hold its id
    erased_subject: str
    # id of the record
    erasure_id: str
    # the reason, for people
    reason: str


class ErasureApplied(_ErasureApplied, total=False):
    "ErasureApplied records that content was erased on request."

    # the standard's name of the event
    event_type: Literal["context.erasure.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # the records whose content was erased
    records: List["ErasedRecord"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _Exported(TypedDict):
    # id of the record
    pack_id: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str


class Exported(_Exported, total=False):
    "Exported records that an evidence pack was made."

    # signed tree head of the transparency log
    checkpoint: str
    # digest of the pack
    digest: str
    # the standard's name of the event
    event_type: Literal["context.exported"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _FactsDropped(TypedDict):
    # number of dropped facts
    count: int
    # id of the record
    drop_id: str
    # the reason, for people
    reason: str


class FactsDropped(_FactsDropped, total=False):
    "FactsDropped records that a producer had to drop facts. Dropped facts use up their sequences. The hole in the sequences therefore stays visible."

    # the standard's name of the event
    event_type: Literal["context.facts.dropped"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # sequences that the dropped facts used up, per source
    sequences: List["SequenceRanges"]
    # spans and traces
    telemetry_refs: List["Ref"]


class _GrantDenied(TypedDict):
    # id of the record
    grant_id: str


class GrantDenied(_GrantDenied, total=False):
    "GrantDenied records a refused request: a malformed grant, or a grant wider than the parent's."

    # authenticated facts that the grants were minted from, such as user:u_1
    basis: List["Ref"]
    # code of the denial
    code: str
    # the grants in force
    effective: List[str]
    # the standard's name of the event
    event_type: Literal["context.grant.denied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # grants that the issuer holds or mints
    grants: List[str]
    # whether the grants are the parent's, unchanged
    inherited: bool
    # trusted code that decided
    issuer: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # reason of the denial, for people
    reason: str
    # grants that the child requested; absent: inherit, empty: none
    requested: List[str]
    # the rule that decided
    rule: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _GrantIssued(TypedDict):
    # id of the record
    grant_id: str


class GrantIssued(_GrantIssued, total=False):
    "GrantIssued records namespace grants that trusted code minted for a run."

    # authenticated facts that the grants were minted from, such as user:u_1
    basis: List["Ref"]
    # code of the denial
    code: str
    # the grants in force
    effective: List[str]
    # the standard's name of the event
    event_type: Literal["context.grant.issued"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # grants that the issuer holds or mints
    grants: List[str]
    # whether the grants are the parent's, unchanged
    inherited: bool
    # trusted code that decided
    issuer: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # reason of the denial, for people
    reason: str
    # grants that the child requested; absent: inherit, empty: none
    requested: List[str]
    # the rule that decided
    rule: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _GrantNarrowed(TypedDict):
    # id of the record
    grant_id: str


class GrantNarrowed(_GrantNarrowed, total=False):
    "GrantNarrowed records the part of its parent's grants that a child run received."

    # authenticated facts that the grants were minted from, such as user:u_1
    basis: List["Ref"]
    # code of the denial
    code: str
    # the grants in force
    effective: List[str]
    # the standard's name of the event
    event_type: Literal["context.grant.narrowed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # grants that the issuer holds or mints
    grants: List[str]
    # whether the grants are the parent's, unchanged
    inherited: bool
    # trusted code that decided
    issuer: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # reason of the denial, for people
    reason: str
    # grants that the child requested; absent: inherit, empty: none
    requested: List[str]
    # the rule that decided
    rule: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _InjectionApplied(TypedDict):
    # id of the record
    injection_id: str


class InjectionApplied(_InjectionApplied, total=False):
    "InjectionApplied records that context became visible to a target."

    # the assembly of blocks
    assembly_id: str
    # the message or item that the context is attached to
    attached_to: "Ref"
    # the run's resource binding whose provider supplied this context
    binding_id: str
    # the model call of the record
    call_id: str
    # the text, if the producer chose to send it inline
    content: str
    # the item that caused the change of persona
    cue_item_ref: "Ref"
    # keyed digest of the content
    digest: str
    # whether the context is removed after the call
    ephemeral: bool
    # the standard's name of the event
    event_type: Literal["context.injection.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # kind of the injection: window, head, persona, reminder, memory, tool_visible, …
    injection_kind: str
    # place of the context in the request. Known words: system_prompt, developer_prompt, message_history, user_message_appendix, tool_argument, tool_visible_resource, runtime_metadata, ui_panel, review_export, peer_agent_message, artifact_input, custom. Other words are kept.
    injection_point: str
    # the items in it, in order
    item_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the persona before
    persona_from: str
    # the persona after
    persona_to: str
    # policies that applied
    policy_refs: List["Ref"]
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # version of the Agent Context standard
    schema_version: str
    # the target that receives it, such as model
    target: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens by the call's estimator
    tokens: int


class _InjectionRemoved(TypedDict):
    # id of the record
    injection_id: str


class InjectionRemoved(_InjectionRemoved, total=False):
    "InjectionRemoved records that injected context was removed."

    # the assembly of blocks
    assembly_id: str
    # the message or item that the context is attached to
    attached_to: "Ref"
    # the run's resource binding whose provider supplied this context
    binding_id: str
    # the model call of the record
    call_id: str
    # the text, if the producer chose to send it inline
    content: str
    # the item that caused the change of persona
    cue_item_ref: "Ref"
    # keyed digest of the content
    digest: str
    # whether the context is removed after the call
    ephemeral: bool
    # the standard's name of the event
    event_type: Literal["context.injection.removed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # kind of the injection: window, head, persona, reminder, memory, tool_visible, …
    injection_kind: str
    # place of the context in the request. Known words: system_prompt, developer_prompt, message_history, user_message_appendix, tool_argument, tool_visible_resource, runtime_metadata, ui_panel, review_export, peer_agent_message, artifact_input, custom. Other words are kept.
    injection_point: str
    # the items in it, in order
    item_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the persona before
    persona_from: str
    # the persona after
    persona_to: str
    # policies that applied
    policy_refs: List["Ref"]
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # the elision pass that removed the context
    removed_by_pass: str
    # the replacement for the removed context
    replaced_by: "Ref"
    # version of the Agent Context standard
    schema_version: str
    # the target that receives it, such as model
    target: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens by the call's estimator
    tokens: int


class _ItemAdded(TypedDict):
    # id of the record
    item_id: str


class ItemAdded(_ItemAdded, total=False):
    "ItemAdded records a new item."

    # the run's resource binding whose provider supplied this context
    binding_id: str
    # bytes of the content
    byte_size: int
    # inline content, if the producer chose to send it
    content: Any
    # keyed digest of the content
    content_digest: str
    # how the item carries its content. Known words: inline, ref, summary, embedded_resource, resource_link, artifact_ref, tool_result_ref, opaque. Other words are kept.
    content_mode: str
    # location of the content
    content_ref: "Ref"
    # kind of the item. Known words: system_instruction, system_reminder, tool_definition, user_message, assistant_message, tool_call, tool_result, file_excerpt, document, knowledge_pack_item, memory, computed_summary. Other words are kept.
    context_kind: str
    # whether the item stays when other retrieved context is dropped
    essential: bool
    # the estimator that counted the tokens
    estimator: str
    # the standard's name of the event
    event_type: Literal["context.item.added"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how current the content is: a word or an object
    freshness: Any
    # BCP 47 tag
    language: str
    # layer of the window: system, user, tool_results, …
    layer: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # media type of the content
    mime_type: str
    # the item that proposed this item; the model accepted the proposal
    offered_by: "Ref"
    # items and sources that the item proposes to the model
    offers: List["Ref"]
    # parts of the content, in order, if the content is more than one text
    parts: List["Part"]
    # whether the item must stay in the window
    pinned: bool
    # policies that applied
    policy_refs: List["Ref"]
    # priority; an item with a higher priority is kept longer
    priority: float
    # the file or resource that the content shows
    reads: str
    # why content is withheld
    redaction_reason: str
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # role of the message: system, user, assistant, tool
    role: str
    # version of the Agent Context standard
    schema_version: str
    # how sensitive the content is, such as internal
    sensitivity: str
    # where the content came from
    source_refs: List["SourceRef"]
    # spans and traces
    telemetry_refs: List["Ref"]
    # title for people
    title: str
    # tokens of the content
    token_estimate: int
    # how far the source is trusted
    trust_level: str
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]


class _ItemRemoved(TypedDict):
    # id of the record
    item_id: str


class ItemRemoved(_ItemRemoved, total=False):
    "ItemRemoved records that an item is no longer available."

    # the standard's name of the event
    event_type: Literal["context.item.removed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # the reason, for people
    reason: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _ItemUpdated(TypedDict):
    # id of the record
    item_id: str


class ItemUpdated(_ItemUpdated, total=False):
    "ItemUpdated records the whole item after a change."

    # the run's resource binding whose provider supplied this context
    binding_id: str
    # bytes of the content
    byte_size: int
    # inline content, if the producer chose to send it
    content: Any
    # keyed digest of the content
    content_digest: str
    # how the item carries its content. Known words: inline, ref, summary, embedded_resource, resource_link, artifact_ref, tool_result_ref, opaque. Other words are kept.
    content_mode: str
    # location of the content
    content_ref: "Ref"
    # kind of the item. Known words: system_instruction, system_reminder, tool_definition, user_message, assistant_message, tool_call, tool_result, file_excerpt, document, knowledge_pack_item, memory, computed_summary. Other words are kept.
    context_kind: str
    # whether the item stays when other retrieved context is dropped
    essential: bool
    # the estimator that counted the tokens
    estimator: str
    # the standard's name of the event
    event_type: Literal["context.item.updated"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how current the content is: a word or an object
    freshness: Any
    # BCP 47 tag
    language: str
    # layer of the window: system, user, tool_results, …
    layer: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # media type of the content
    mime_type: str
    # the item that proposed this item; the model accepted the proposal
    offered_by: "Ref"
    # items and sources that the item proposes to the model
    offers: List["Ref"]
    # parts of the content, in order, if the content is more than one text
    parts: List["Part"]
    # whether the item must stay in the window
    pinned: bool
    # policies that applied
    policy_refs: List["Ref"]
    # priority; an item with a higher priority is kept longer
    priority: float
    # the file or resource that the content shows
    reads: str
    # why content is withheld
    redaction_reason: str
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # role of the message: system, user, assistant, tool
    role: str
    # version of the Agent Context standard
    schema_version: str
    # how sensitive the content is, such as internal
    sensitivity: str
    # where the content came from
    source_refs: List["SourceRef"]
    # spans and traces
    telemetry_refs: List["Ref"]
    # title for people
    title: str
    # tokens of the content
    token_estimate: int
    # how far the source is trusted
    trust_level: str
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]


class _LogAppended(TypedDict):
    # type of the entry: message, function_call, function_call_output, reasoning or prefix:name
    item_type: str
    # id of the record
    log_item_id: str


class LogAppended(_LogAppended, total=False):
    "LogAppended records one entry of the append-only item log (seed 003). ItemType is message, function_call, function_call_output, reasoning or an extension of the form prefix:name. ToolCallID joins a function_call to its output. CallID is the model call that produced the entry."

    # bytes of the content
    byte_size: int
    # the model call of the record
    call_id: str
    # keyed digest of the content
    content_digest: str
    # the standard's name of the event
    event_type: Literal["context.log.appended"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the context item that the entry carries
    item_ref: "Ref"
    # id of the item log; default: the thread
    log_id: str
    # properties of the content beyond the item type. Known words: reasoning_summary, encrypted_content, refusal. Other words are kept.
    markers: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # name of the function
    name: str
    # the entry before this entry
    parent_ref: "Ref"
    # policies that applied
    policy_refs: List["Ref"]
    # position in the item log, from 0
    position: int
    # role of the message: system, user, assistant, tool
    role: str
    # version of the Agent Context standard
    schema_version: str
    # status of the entry: in_progress, completed or incomplete
    status: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens by the call's estimator
    tokens: int
    # the tool call
    tool_call_id: str


class _MissingDetected(TypedDict):
    # id of the record; the same in all facts of the gap
    missing_id: str
    # the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept.
    status: str


class MissingDetected(_MissingDetected, total=False):
    "MissingDetected records that a gap was found."

    # actions that wait for the end of the gap
    blocked_actions: List[str]
    # the model call of the record
    call_id: str
    # items that could fill the gap
    candidate_item_refs: List["Ref"]
    # sources that might hold the missing information
    candidate_sources: List[Mapping[str, Any]]
    # the standard's name of the event
    event_type: Literal["context.missing.detected"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the purpose that needs the missing information
    needed_for: str
    # policies that applied
    policy_refs: List["Ref"]
    # the missing information, as a question
    question: str
    # the action that the owner should take
    requested_action: str
    # the owner of the missing information
    requested_from: "Ref"
    # records that ended the gap
    resolution_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str
    # severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept.
    severity: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # summary that is safe to show to the user
    user_summary: str


class _MissingRequested(TypedDict):
    # id of the record; the same in all facts of the gap
    missing_id: str
    # the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept.
    status: str


class MissingRequested(_MissingRequested, total=False):
    "MissingRequested records that the owner was asked."

    # actions that wait for the end of the gap
    blocked_actions: List[str]
    # the model call of the record
    call_id: str
    # items that could fill the gap
    candidate_item_refs: List["Ref"]
    # sources that might hold the missing information
    candidate_sources: List[Mapping[str, Any]]
    # the standard's name of the event
    event_type: Literal["context.missing.requested"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the purpose that needs the missing information
    needed_for: str
    # policies that applied
    policy_refs: List["Ref"]
    # the missing information, as a question
    question: str
    # the action that the owner should take
    requested_action: str
    # the owner of the missing information
    requested_from: "Ref"
    # records that ended the gap
    resolution_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str
    # severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept.
    severity: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # summary that is safe to show to the user
    user_summary: str


class _MissingResolved(TypedDict):
    # id of the record; the same in all facts of the gap
    missing_id: str
    # the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept.
    status: str


class MissingResolved(_MissingResolved, total=False):
    "MissingResolved records how the gap ended."

    # actions that wait for the end of the gap
    blocked_actions: List[str]
    # the model call of the record
    call_id: str
    # items that could fill the gap
    candidate_item_refs: List["Ref"]
    # sources that might hold the missing information
    candidate_sources: List[Mapping[str, Any]]
    # the standard's name of the event
    event_type: Literal["context.missing.resolved"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the purpose that needs the missing information
    needed_for: str
    # policies that applied
    policy_refs: List["Ref"]
    # the missing information, as a question
    question: str
    # the action that the owner should take
    requested_action: str
    # the owner of the missing information
    requested_from: "Ref"
    # records that ended the gap
    resolution_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str
    # severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept.
    severity: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # summary that is safe to show to the user
    user_summary: str


class _PressureApplied(TypedDict):
    # name of the rung
    name: str
    # result of the rung. Known words: applied, skipped, insufficient, failed. Other words are kept.
    outcome: str
    # id of the record
    pressure_id: str
    # number of the rung, 1 to 5
    step: int


class PressureApplied(_PressureApplied, total=False):
    "PressureApplied records one rung of the ladder of seed 000. PressureApplied also records a skipped rung, and a rung that saved too few tokens."

    # the model call of the record
    call_id: str
    # the standard's name of the event
    event_type: Literal["context.pressure.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # items that the rung touched
    item_refs: List["Ref"]
    # tokens that the prompt may use
    limit_tokens: int
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the provider's name of the model
    model: str
    # the policy that decided
    policy: str
    # policies that applied
    policy_refs: List["Ref"]
    # the reason, for people
    reason: str
    # version of the Agent Context standard
    schema_version: str
    # the summary that replaces the items
    summary_ref: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int


class _RedactionApplied(TypedDict):
    # the reason, for people
    reason: str
    # id of the record
    redaction_id: str
    # state of the target's content after the redaction. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # the item that was redacted
    target_ref: "Ref"


class RedactionApplied(_RedactionApplied, total=False):
    "RedactionApplied records that sensitive content was withheld. RedactionApplied holds a reason and policy refs, never the value."

    # the actor that decided
    actor_ref: "Ref"
    # the model call of the record
    call_id: str
    # the standard's name of the event
    event_type: Literal["context.redaction.applied"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # fingerprints by which a key holder recognises the withheld values
    fingerprints: List["Fingerprint"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # how the content was withheld, such as pattern
    method: str
    # policies that applied
    policy_refs: List["Ref"]
    # names or JSON Pointers of the withheld fields
    redacted_fields: List[str]
    # the replacement for the withheld content
    replacement_ref: "Ref"
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _RedactionRevoked(TypedDict):
    # the reason, for people
    reason: str
    # the redaction that was taken back
    redaction_id: str


class RedactionRevoked(_RedactionRevoked, total=False):
    "RedactionRevoked records that the operator took a redaction back. From the position of the fact on, the redaction withholds nothing. Values that were masked before stay masked, and a value that another redaction withholds stays withheld. A later redaction counts again."

    # the actor that decided
    actor_ref: "Ref"
    # the standard's name of the event
    event_type: Literal["context.redaction.revoked"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _ResourceAccessed(TypedDict):
    # id of the record: the binding of a resource to one run
    binding_id: str
    # the operation, such as read, write or list
    operation: str


class ResourceAccessed(_ResourceAccessed, total=False):
    "ResourceAccessed records one operation on a resource, whether allowed or not."

    # whether the operation was allowed
    allowed: bool
    # keyed digest of the settings
    config_digest: str
    # names of the provider's settings, never values
    config_keys: List[str]
    # declared mode: read or read-write
    declared_mode: str
    # granted mode: read or read-write
    effective_mode: str
    # the standard's name of the event
    event_type: Literal["context.resource.accessed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the grant that allowed the operation
    matched_grant: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the resource's name in the manifest
    name: str
    # path within the resource
    path: str
    # policies that applied
    policy_refs: List["Ref"]
    # kind of provider; default: the name
    resource_kind: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tools exposed to the model
    tools: List[str]


class _ResourceResolved(TypedDict):
    # id of the record: the binding of a resource to one run
    binding_id: str


class ResourceResolved(_ResourceResolved, total=False):
    "ResourceResolved records the outcome of a declared resource: bound to a run, or without a provider."

    # keyed digest of the settings
    config_digest: str
    # names of the provider's settings, never values
    config_keys: List[str]
    # declared mode: read or read-write
    declared_mode: str
    # granted mode: read or read-write
    effective_mode: str
    # the standard's name of the event
    event_type: Literal["context.resource.resolved"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the resource's name in the manifest
    name: str
    # outcome of the resolution; default: resolved. Known words: resolved, unresolved. Other words are kept.
    outcome: str
    # policies that applied
    policy_refs: List["Ref"]
    # why the resource is unresolved, for people
    reason: str
    # kind of provider; default: the name
    resource_kind: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tools exposed to the model
    tools: List[str]


class _ScopeOpened(TypedDict):
    # id of the record
    run_id: str


class ScopeOpened(_ScopeOpened, total=False):
    "ScopeOpened records a run's context when the run starts (seed 000): its ids, its parent and its inherited values. Handles and secrets never appear. Of configurable values, only the names appear."

    # names of configurable values, never values
    configurable_keys: List[str]
    # whether the agent's output is written back to its scratchpads
    context_write: bool
    # depth of the run; 0 at the root
    depth: int
    # the standard's name of the event
    event_type: Literal["context.scope.opened"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # names of the fields that the run inherited from its parent
    inherited_fields: List[str]
    # metadata from the parent
    inherited_metadata: Mapping[str, Any]
    # tags from the parent
    inherited_tags: List[str]
    # limits of the run, by name
    limits: Mapping[str, Any]
    # the run's own metadata
    local_metadata: Mapping[str, Any]
    # deepest run allowed below the root
    max_depth: int
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the run that started this one
    parent_run_id: str
    # the parent's thread
    parent_thread_id: str
    # policies that applied
    policy_refs: List["Ref"]
    # rules by which the run's windows are made to fit
    pressure_policy: "PressureRules"
    # the runtime's name and version
    program: str
    # the first run of the tree
    root_run_id: str
    # version of the Agent Context standard
    schema_version: str
    # kind of the scope: session, agent, subagent, task. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope_kind: str
    # names of stores that the run can reach
    stores: List[str]
    # the run's own tags
    tags: List[str]
    # spans and traces
    telemetry_refs: List["Ref"]
    # the thread
    thread_id: str
    # whether the run left its parent's thread
    thread_overridden: bool


class _ScratchpadLoaded(TypedDict):
    # id of the record
    scratchpad_id: str


class ScratchpadLoaded(_ScratchpadLoaded, total=False):
    "ScratchpadLoaded records scratchpad text that entered the prompt."

    # the legacy contextIds
    context_ids: List[str]
    # keyed digests of the entries, see Key.Digest
    digests: List[str]
    # entries loaded or written
    entry_count: int
    # the standard's name of the event
    event_type: Literal["context.scratchpad.loaded"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # items in the window that hold the entries, in order
    item_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens of the text
    tokens: int


class _ScratchpadWritten(TypedDict):
    # id of the record
    scratchpad_id: str


class ScratchpadWritten(_ScratchpadWritten, total=False):
    "ScratchpadWritten records output written back to scratchpads."

    # the legacy contextIds
    context_ids: List[str]
    # keyed digests of the entries, see Key.Digest
    digests: List[str]
    # entries loaded or written
    entry_count: int
    # the standard's name of the event
    event_type: Literal["context.scratchpad.written"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # items in the window that hold the entries, in order
    item_refs: List["Ref"]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens of the text
    tokens: int


class _SelectionCompleted(TypedDict):
    # id of the record; the same for all parts
    selection_id: str
    # the surface of the candidates
    surface_id: str


class SelectionCompleted(_SelectionCompleted, total=False):
    "SelectionCompleted records the decision. Candidates = Selected + Omitted. Each omission has a reason; see boundary rule 4."

    # the actor that decided
    actor_ref: "Ref"
    # the budget in force
    budget_ref: "Ref"
    # the model call of the record
    call_id: str
    # Candidates are all considered items, in the order of consideration.
    candidate_item_refs: List["Ref"]
    # the standard's name of the event
    event_type: Literal["context.selection.completed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # purpose of the query
    intent: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the model that decided, if one did
    model_ref: "Ref"
    # items that were left out, each with a reason
    omitted_item_refs: List["Candidate"]
    # Part is the number of this part, from 1 to Parts, of a selection that is too large for one event. Part and Parts are nil for a selection in one event.
    part: int
    # number of parts
    parts: int
    # policies that applied
    policy_refs: List["Ref"]
    # text of the query
    query: str
    # the reason, for people
    rationale: str
    # version of the Agent Context standard
    schema_version: str
    # items that were chosen
    selected_item_refs: List["Candidate"]
    # the policy that decided
    selection_policy: "Ref"
    # spans and traces
    telemetry_refs: List["Ref"]


class _SelectionStarted(TypedDict):
    # id of the record; the same for all parts
    selection_id: str
    # the surface of the candidates
    surface_id: str


class SelectionStarted(_SelectionStarted, total=False):
    "SelectionStarted records the question and the candidates before the decision."

    # the actor that decided
    actor_ref: "Ref"
    # the model call of the record
    call_id: str
    # Candidates are all considered items, in the order of consideration.
    candidate_item_refs: List["Ref"]
    # the standard's name of the event
    event_type: Literal["context.selection.started"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # purpose of the query
    intent: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the model that decided, if one did
    model_ref: "Ref"
    # Part is the number of this part, from 1 to Parts, of a selection that is too large for one event. Part and Parts are nil for a selection in one event.
    part: int
    # number of parts
    parts: int
    # policies that applied
    policy_refs: List["Ref"]
    # text of the query
    query: str
    # version of the Agent Context standard
    schema_version: str
    # spans and traces
    telemetry_refs: List["Ref"]


class _SummaryCreated(TypedDict):
    # id of the record
    summary_id: str


class SummaryCreated(_SummaryCreated, total=False):
    "SummaryCreated records a new summary."

    # bytes of the content
    byte_size: int
    # the text, if the producer chose to send it inline
    content: str
    # keyed digest of the content
    content_digest: str
    # location of the content
    content_ref: "Ref"
    # last position in the item log that the summary covers
    covers_through_position: int
    # id of the running log's sub-context
    ephemeral_context_id: str
    # the standard's name of the event
    event_type: Literal["context.summary.created"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how current the content is: a word or an object
    freshness: Any
    # goals that the summary keeps
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # questions that the summary leaves open
    open_questions: List[str]
    # policies that applied
    policy_refs: List["Ref"]
    # when the summary is refreshed
    refresh_policy: str
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the model call that wrote the summary
    summarizer_call_id: str
    # kind of the summary: thread_summary, running_log, …
    summary_kind: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens by the call's estimator
    tokens: int


class _SummaryRefreshed(TypedDict):
    # id of the record
    summary_id: str


class SummaryRefreshed(_SummaryRefreshed, total=False):
    "SummaryRefreshed records the whole summary after a refresh."

    # bytes of the content
    byte_size: int
    # the text, if the producer chose to send it inline
    content: str
    # keyed digest of the content
    content_digest: str
    # location of the content
    content_ref: "Ref"
    # last position in the item log that the summary covers
    covers_through_position: int
    # id of the running log's sub-context
    ephemeral_context_id: str
    # the standard's name of the event
    event_type: Literal["context.summary.refreshed"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how current the content is: a word or an object
    freshness: Any
    # goals that the summary keeps
    goal_refs: List["Ref"]
    # content that the summary leaves out
    loss_notes: List[str]
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # questions that the summary leaves open
    open_questions: List[str]
    # policies that applied
    policy_refs: List["Ref"]
    # when the summary is refreshed
    refresh_policy: str
    # version of the Agent Context standard
    schema_version: str
    # items that the summary covers, in order
    source_item_refs: List["Ref"]
    # the model call that wrote the summary
    summarizer_call_id: str
    # kind of the summary: thread_summary, running_log, …
    summary_kind: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # tokens by the call's estimator
    tokens: int


class _SurfaceCreated(TypedDict):
    # id of the record
    surface_id: str


class SurfaceCreated(_SurfaceCreated, total=False):
    "SurfaceCreated records a surface when it is first offered."

    # items that could be chosen
    available_item_refs: List["Ref"]
    # sources that could be read
    available_source_refs: List["Ref"]
    # tools and skills that could be used
    capability_refs: List["Ref"]
    # the standard's name of the event
    event_type: Literal["context.surface.created"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # when the surface expires, RFC 3339
    expires_at: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str
    # kind of the surface. Known words: workspace, model_call. Other words are kept.
    surface_kind: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]


class _SurfaceUpdated(TypedDict):
    # id of the record
    surface_id: str


class SurfaceUpdated(_SurfaceUpdated, total=False):
    "SurfaceUpdated records the whole surface after a change."

    # items that could be chosen
    available_item_refs: List["Ref"]
    # sources that could be read
    available_source_refs: List["Ref"]
    # tools and skills that could be used
    capability_refs: List["Ref"]
    # the standard's name of the event
    event_type: Literal["context.surface.updated"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # when the surface expires, RFC 3339
    expires_at: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # policies that applied
    policy_refs: List["Ref"]
    # version of the Agent Context standard
    schema_version: str
    # the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept.
    scope: str
    # kind of the surface. Known words: workspace, model_call. Other words are kept.
    surface_kind: str
    # spans and traces
    telemetry_refs: List["Ref"]
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]


class _UsageRecorded(TypedDict):
    # id of the record: the model call
    call_id: str


class UsageRecorded(_UsageRecorded, total=False):
    "UsageRecorded records one model call: the estimated tokens of each layer of its window, and the tokens that the provider billed. The two are never mixed."

    # the model that answered, as the provider named it
    answered_model: str
    # the assembly of blocks
    assembly_id: str
    # lifetime of the prompt cache in seconds
    cache_lifetime_seconds: int
    # cost of the call, in currency
    cost: float
    # whether the record has everything that the model received. Known words: complete, partial. Other words are kept.
    coverage: str
    # why the coverage is partial. Known words: system_unknown, tools_unknown, entries_missing, slice_missing, base_missing, chain_too_long, call_missing, digest_mismatch, opaque_blocks, truncated, previous_unobserved, user_returned. Other words are kept.
    coverage_reasons: List[str]
    # ISO 4217 code
    currency: str
    # the estimator that counted the tokens
    estimator: str
    # the standard's name of the event
    event_type: Literal["context.usage.recorded"]
    # evidence that cites the record
    evidence_refs: List["Ref"]
    # how the record is known. Known words: wire, serialized, stated, reported, reconstructed. Other words are kept.
    fidelity: str
    # seconds since the last call of the lineage
    gap_seconds: float
    # estimated tokens of the conversation
    history_tokens: int
    # the layers of the window, each with its tokens
    layers: List["LayerUsage"]
    # id of the calls that share a prompt cache
    lineage_id: str
    # the producer's own values, outside the contract
    metadata: Mapping[str, Any]
    # the provider's name of the model
    model: str
    # policies that applied
    policy_refs: List["Ref"]
    # the price list of the cost
    price_ref: "Ref"
    # the provider's id of the answer; the same in all tellings of the call
    provider_message_id: str
    # the provider's own numbers, as sent
    provider_usage: Mapping[str, Any]
    # version of the Agent Context standard
    schema_version: str
    # the provider's word for the stop reason
    stop_reason: str
    # keyed digest of the system prompt
    system_digest: str
    # estimated tokens of the system prompt
    system_tokens: int
    # the call's own tags
    tags: List[str]
    # spans and traces
    telemetry_refs: List["Ref"]
    # keyed digest of the tool definitions
    tools_digest: str
    # estimated tokens of the tool definitions
    tools_tokens: int
    # estimated tokens of the window
    total_tokens: int
    # tokens that the provider billed, each in one bucket
    usage: "ProviderUsage"
    # The window was built from the item log's entries from WindowFirst up to, not including, WindowNext.
    window_first_position: int
    # end position in the item log, not included
    window_next_position: int


class Block(TypedDict, total=False):
    "Block is one ordered part of an assembly."

    # the block's name or id
    block: str
    # the text, if the producer chose to send it inline
    content: str
    # keyed digest of the content
    digest: str
    # digest of the block's canonical bytes under the tenant's equality key
    equality_digest: str
    # the items in it, in order
    item_refs: List["Ref"]
    # layer of the window: system, user, tool_results, …
    layer: str
    # position of the block; 0 is first
    position: int
    # how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept.
    redaction_state: str
    # role of the message: system, user, assistant, tool
    role: str
    # tokens by the call's estimator
    tokens: int
    # the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept.
    visibility: List[str]
    # the wrapper around the items
    wrapper: str


class Candidate(TypedDict, total=False):
    "Candidate is an item as a selection saw it. An omitted candidate has a Reason. A selected candidate may have a Reason. A bare item id, which the standard also allows, reads as a Candidate with only ItemRef."

    # the item
    item_ref: "Ref"
    # note for people
    note: str
    # rank of the item; 1 is best
    rank: int
    # why the item was left out; required for omitted items. Known words: budget_limit, low_relevance, duplicate, stale, policy_blocked, permission_missing, unsupported_media, too_large, sensitive, superseded_by_summary, not_visible_to_target, custom. Other words are kept.
    reason: str
    # score of the item; higher is better
    score: float
    # parts of the score, by name
    signals: Mapping[str, Any]
    # tokens by the call's estimator
    tokens: int


class Elided(TypedDict, total=False):
    "Elided is one item of an elision pass."

    # the item
    item_ref: "Ref"
    # level of the item, if it differs from the level of the pass. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept.
    level: str
    # how the agent used the item, as the stub reports
    note: str
    # position in the item log
    position: int
    # why the pass chose this item
    reason: str
    # location of the full content
    reload_ref: "Ref"
    # keyed digest of the stub
    stub_digest: str
    # tokens after the change
    tokens_after: int
    # tokens before the change
    tokens_before: int
    # the tool call
    tool_call_id: str


class ErasedRecord(TypedDict, total=False):
    "ErasedRecord is one record whose content was erased. Its place remains: in the log, among the records of its producer, and in its scopes."

    # the item that the record was a version of
    item_id: str
    # leaf hash in the transparency log, hex
    leaf: str
    # run of the event
    run_id: str
    # position in the stream
    sequence: int
    # session of the event
    session_id: str
    # the event's source attribute
    source: str
    # the event's sequence attribute: a count per source and session
    source_sequence: int
    # JetStream stream
    stream: str
    # turn of the event
    turn_id: str


class Fingerprint(TypedDict, total=False):
    "Fingerprint lets a holder of the tenant key recognise a withheld value without a copy of the value. Values shorter than 8 bytes have no fingerprint."

    # HMAC-SHA-256 of the whole value, hex
    hmac: str
    # the tenant key
    key_id: str
    # length of the value in bytes
    length: int
    # keyed rolling hash of the first 8 bytes, hex
    prefix_hash: str


class LayerUsage(TypedDict, total=False):
    "LayerUsage is one contributor's share of a window (seed 003)."

    # whether the layer changed since the last call of the lineage
    changed: bool
    # items of the layer
    items: int
    # layer of the window: system, user, tool_results, …
    layer: str
    # place of the layer in the window
    placement: str
    # the estimator that counted the reported tokens
    reported_estimator: str
    # tokens that the layer itself reports
    reported_tokens: int
    # tokens by the call's estimator
    tokens: int


class Part(TypedDict, total=False):
    "Part is one part of an item's content (seed 003): a text, an image, a file. Part refers to its content and never holds it. A text needs a reference, a digest or a size. Any other part needs a reference."

    # bytes of the content
    byte_size: int
    # must be absent: a part refers to its content
    content: Any
    # detail at which the model views the part: auto, low, high
    detail: str
    # keyed digest of the content
    digest: str
    # the estimator that counted the tokens
    estimator: str
    # media type of the content
    mime_type: str
    # name of the part, such as a file name
    name: str
    # kind of the part: text, image, file, …. Known words: text, image, file, audio. Other words are kept.
    part_kind: str
    # location of the content
    ref: "Ref"
    # tokens of the part
    tokens: int


class PressureRules(TypedDict, total=False):
    "PressureRules are the rules by which windows are made to fit (seed 000). An absent rule is the runtime's default, or unknown."

    # newest tool results that stay whole
    compact_keep_last_items: int
    # tokens of the stub for a tool result
    compact_stub_tokens: int
    # percentage of the limit above which the ladder runs
    high_water_percent: int
    # name of the policy
    name: str
    # rungs of the ladder, in the order in which they run
    steps: List[str]
    # newest messages that are not summarised
    summarize_keep_last_items: int
    # tokens above which the ladder runs
    trigger_tokens: int
    # oldest messages that trimming leaves
    trim_keep_first_items: int
    # newest messages that trimming leaves
    trim_keep_last_items: int
    # role with which a trimmed conversation begins
    trim_start_on: str


class ProviderUsage(TypedDict, total=False):
    "ProviderUsage is the provider's bill for one call, in tokens, each token in exactly one bucket. The provider's window is the sum of the input buckets: UncachedInput, CacheRead and the three cache writes. If a provider counts cached input inside input, or reasoning inside output, the producer subtracts it."

    # input tokens read from the cache
    cache_read_tokens: int
    # input tokens written to the one-hour cache
    cache_write_1h_tokens: int
    # input tokens written to the five-minute cache
    cache_write_5m_tokens: int
    # input tokens written to a cache of unreported lifetime
    cache_write_tokens: int
    # output tokens without reasoning
    output_tokens: int
    # reasoning tokens
    reasoning_tokens: int
    # input tokens that were not in the cache
    uncached_input_tokens: int


# Ref refers to another record: an item, a surface, a policy, a source. The standard allows a string or an object. A Ref keeps an object as its JSON text. A Ref is therefore comparable, costs one string and travels unchanged. The zero value is no reference.
Ref = Union[str, Mapping[str, Any]]


class Reinjected(TypedDict, total=False):
    "Reinjected is system state that a compaction put back into the window."

    # kind of the state: skills, todo, recent_files, …
    kind: str
    # location of the state
    ref: "Ref"
    # tokens by the call's estimator
    tokens: int


class Segment(TypedDict, total=False):
    "Segment is one part of a window. The budget's estimator counts its tokens."

    # tokens that the part uses
    actual: int
    # the items in it, in order
    item_refs: List["Ref"]
    # layer of the window: system, user, tool_results, …
    layer: str
    # position in the window; 0 is first
    order: int
    # tokens reserved for the part
    reserved: int
    # role of the message: system, user, assistant, tool
    role: str
    # the part's name
    segment: str


class SequenceRanges(TypedDict, total=False):
    "SequenceRanges are the sequences that one source used in a scope, as closed ranges. Parallel runs of a session interleave. A source may therefore have several ranges."

    # closed ranges first, last, in order
    ranges: List[List[int]]
    # the events' source attribute
    source: str


class SourceRef(TypedDict, total=False):
    "SourceRef names the source of content."

    # the authority that vouches for the source
    authority: str
    # keyed digest of the content
    digest: str
    # ids of the source in other systems
    external_mappings: List[Mapping[str, Any]]
    # when the source last changed, RFC 3339
    modified_at: str
    # when the source was read, RFC 3339
    retrieved_at: str
    # the part of the source: an object with a type, an array or a string
    selector: Any
    # id of the source
    source_id: str
    # kind of the source. Known words: file, artifact, turn, tool_call. Other words are kept.
    source_kind: str
    # location of the source
    uri: str


class SourceWindow(TypedDict, total=False):
    "SourceWindow names the range of the item log that a summary covers. SourceWindow is a reference, never a copy."

    # its first item
    first_item_ref: "Ref"
    # first position in the item log
    first_position: int
    # items in the window
    item_count: int
    # its last item
    last_item_ref: "Ref"
    # last position in the item log, included
    last_position: int
    # the thread
    thread_id: str
    # tokens by the call's estimator
    tokens: int


class Truncation(TypedDict, total=False):
    "Truncation records one item that was shortened or taken out of the window."

    # the item
    item_ref: "Ref"
    # the reason, for people
    reason: str
    # how the item was shortened or taken out
    strategy: str
    # tokens after the change; 0 if the item is not in the window
    tokens_after: int
    # tokens before the change
    tokens_before: int


# The names of the event types.
EventType = Literal[
    "context.assembly.created",
    "context.budget.applied",
    "context.compaction.completed",
    "context.compaction.discarded",
    "context.compaction.failed",
    "context.compaction.started",
    "context.elision.applied",
    "context.elision.reloaded",
    "context.envelope.created",
    "context.erasure.applied",
    "context.exported",
    "context.facts.dropped",
    "context.grant.denied",
    "context.grant.issued",
    "context.grant.narrowed",
    "context.injection.applied",
    "context.injection.removed",
    "context.item.added",
    "context.item.removed",
    "context.item.updated",
    "context.log.appended",
    "context.missing.detected",
    "context.missing.requested",
    "context.missing.resolved",
    "context.pressure.applied",
    "context.redaction.applied",
    "context.redaction.revoked",
    "context.resource.accessed",
    "context.resource.resolved",
    "context.scope.opened",
    "context.scratchpad.loaded",
    "context.scratchpad.written",
    "context.selection.completed",
    "context.selection.started",
    "context.summary.created",
    "context.summary.refreshed",
    "context.surface.created",
    "context.surface.updated",
    "context.usage.recorded",
]

# The data of an event type.
Fact = Union[
    AssemblyCreated,
    BudgetApplied,
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionStarted,
    ElisionApplied,
    ElisionReloaded,
    EnvelopeCreated,
    ErasureApplied,
    Exported,
    FactsDropped,
    GrantDenied,
    GrantIssued,
    GrantNarrowed,
    InjectionApplied,
    InjectionRemoved,
    ItemAdded,
    ItemRemoved,
    ItemUpdated,
    LogAppended,
    MissingDetected,
    MissingRequested,
    MissingResolved,
    PressureApplied,
    RedactionApplied,
    RedactionRevoked,
    ResourceAccessed,
    ResourceResolved,
    ScopeOpened,
    ScratchpadLoaded,
    ScratchpadWritten,
    SelectionCompleted,
    SelectionStarted,
    SummaryCreated,
    SummaryRefreshed,
    SurfaceCreated,
    SurfaceUpdated,
    UsageRecorded,
]
