// Generated from the JSON Schemas of the contract by `go generate ./producer/sdk`. Do not edit.

/** AssemblyCreated records the ordered blocks for one target. InjectionApplied records that the blocks became visible. A whole assembly has all blocks of its window. An assembly with a base has the blocks after the first Keep blocks of the base. Positions of blocks count from the begin of the window. A chain of bases ends at a whole assembly after at most MaxAssemblyChain assemblies. */
export interface AssemblyCreated {
  /** id of the record */
  assembly_id: string;
  /** the assembly whose first blocks begin this window */
  base_assembly_id?: string;
  /** the budget in force */
  budget_ref?: Ref;
  /** the model call of the record */
  call_id?: string;
  /** whether the record has everything that the model received. Known words: complete, partial. Other words are kept. */
  coverage?: string;
  /** why the coverage is partial. Known words: system_unknown, tools_unknown, entries_missing, slice_missing, base_missing, chain_too_long, call_missing, digest_mismatch, opaque_blocks, truncated, previous_unobserved, user_returned. Other words are kept. */
  coverage_reasons?: Array<string>;
  /** the standard's name of the event */
  event_type?: "context.assembly.created";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how the record is known. Known words: wire, serialized, stated, reported, reconstructed. Other words are kept. */
  fidelity?: string;
  /** number of blocks of the base that begin this window */
  keep?: number;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** blocks in the order of the window; with a base, those after the kept ones */
  ordered_blocks: Array<Block>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** how blocks are separated */
  separator_policy?: Ref;
  /** items of the assembly */
  source_item_refs?: Array<Ref>;
  /** the target that receives it, such as model */
  target: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
  /** how items are wrapped */
  wrapping_policy?: Ref;
}

/** BudgetApplied records the window of one call: its limits and its content. */
export interface BudgetApplied {
  /** bytes put into the window */
  actual_bytes?: number;
  /** items put into the window */
  actual_items?: number;
  /** tokens put into the window */
  actual_tokens?: number;
  /** id of the record */
  budget_id: string;
  /** the model call of the record */
  call_id?: string;
  /** tokens of the prompt before the budget was applied */
  estimated_prompt_tokens?: number;
  /** the estimator that counted the tokens */
  estimator?: string;
  /** the standard's name of the event */
  event_type?: "context.budget.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** limit of the window in bytes */
  max_bytes?: number;
  /** limit of the window in items */
  max_items?: number;
  /** limit of the window in tokens */
  max_tokens?: number;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the provider's name of the model */
  model?: string;
  /** how items that did not fit were handled. Known words: reject, truncate_tail, truncate_middle, summarize_oldest, summarize_low_priority, defer_to_retrieval, ask_for_choice, policy_block, custom. Other words are kept. */
  overflow_strategy?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the rules that made the window fit */
  pressure_policy?: PressureRules;
  /** tokens kept free for the output */
  reserved_tokens?: number;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the target that receives it, such as model */
  target: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** items that were shortened or taken out to fit */
  truncation_records?: Array<Truncation>;
  /** the parts of the window, in order */
  window_segments?: Array<Segment>;
}

/** CompactionCompleted records that a summary replaced its source window. */
export interface CompactionCompleted {
  /** the model call of the record */
  call_id?: string;
  /** id of the record; the same in all facts of the compaction */
  compaction_id: string;
  /** coverage of the summary, in the summariser's words and counts */
  coverage?: Record<string, unknown>;
  /** the standard's name of the event */
  event_type?: "context.compaction.completed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** goals in force before the compaction */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept. */
  method?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** why the compaction failed or was discarded */
  reason?: string;
  /** system state that was put back into the window */
  reinjected?: Array<Reinjected>;
  /** whether the summary replaces its source in the window */
  replacement_policy?: string;
  /** the latest items, which remain unchanged */
  retained_tail_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the range of the item log that the summary covers */
  source_window?: SourceWindow;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** the summary */
  summary_ref?: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
  /** the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept. */
  trigger?: string;
  /** whether and how the summary was checked */
  validation?: unknown;
}

/** CompactionDiscarded records that a compaction produced a summary and discarded it. The compaction is never shown as a success. */
export interface CompactionDiscarded {
  /** the model call of the record */
  call_id?: string;
  /** id of the record; the same in all facts of the compaction */
  compaction_id: string;
  /** coverage of the summary, in the summariser's words and counts */
  coverage?: Record<string, unknown>;
  /** the standard's name of the event */
  event_type?: "context.compaction.discarded";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** goals in force before the compaction */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept. */
  method?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** why the compaction failed or was discarded */
  reason?: string;
  /** system state that was put back into the window */
  reinjected?: Array<Reinjected>;
  /** whether the summary replaces its source in the window */
  replacement_policy?: string;
  /** the latest items, which remain unchanged */
  retained_tail_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the range of the item log that the summary covers */
  source_window?: SourceWindow;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** the summary */
  summary_ref?: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
  /** the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept. */
  trigger?: string;
  /** whether and how the summary was checked */
  validation?: unknown;
}

/** CompactionFailed records that a compaction produced no summary. The window is unchanged. */
export interface CompactionFailed {
  /** the model call of the record */
  call_id?: string;
  /** id of the record; the same in all facts of the compaction */
  compaction_id: string;
  /** coverage of the summary, in the summariser's words and counts */
  coverage?: Record<string, unknown>;
  /** the standard's name of the event */
  event_type?: "context.compaction.failed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** goals in force before the compaction */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept. */
  method?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** why the compaction failed or was discarded */
  reason?: string;
  /** system state that was put back into the window */
  reinjected?: Array<Reinjected>;
  /** whether the summary replaces its source in the window */
  replacement_policy?: string;
  /** the latest items, which remain unchanged */
  retained_tail_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the range of the item log that the summary covers */
  source_window?: SourceWindow;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** the summary */
  summary_ref?: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
  /** the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept. */
  trigger?: string;
  /** whether and how the summary was checked */
  validation?: unknown;
}

/** CompactionStarted records the start of a compaction. The window is not replaced yet. */
export interface CompactionStarted {
  /** the model call of the record */
  call_id?: string;
  /** id of the record; the same in all facts of the compaction */
  compaction_id: string;
  /** coverage of the summary, in the summariser's words and counts */
  coverage?: Record<string, unknown>;
  /** the standard's name of the event */
  event_type?: "context.compaction.started";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** goals in force before the compaction */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** how the summary was made. Known words: extractive_summary, abstractive_summary, structured_digest, rolling_summary, semantic_memory_update, human_curated_summary, provider_context_editing, custom. Other words are kept. */
  method?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** why the compaction failed or was discarded */
  reason?: string;
  /** system state that was put back into the window */
  reinjected?: Array<Reinjected>;
  /** whether the summary replaces its source in the window */
  replacement_policy?: string;
  /** the latest items, which remain unchanged */
  retained_tail_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the range of the item log that the summary covers */
  source_window?: SourceWindow;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** the summary */
  summary_ref?: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
  /** the cause that started the compaction. Known words: manual, token_pressure, session_length, task_boundary, handoff, retention, privacy, provider_context_editing, custom. Other words are kept. */
  trigger?: string;
  /** whether and how the summary was checked */
  validation?: unknown;
}

/** ElisionApplied records a pass that shortened items. */
export interface ElisionApplied {
  /** the model call of the record */
  call_id?: string;
  /** the items of the pass */
  elided_item_refs: Array<Elided>;
  /** the standard's name of the event */
  event_type?: "context.elision.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** tokens of the window before the first change */
  first_changed_position?: number;
  /** how much is left of an item. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept. */
  level?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record: the pass */
  pass_id: string;
  /** the policy that decided */
  policy?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens of the elided items before the pass */
  tokens_before?: number;
  /** tokens that the pass saved */
  tokens_saved?: number;
  /** the cause that started the pass */
  trigger?: string;
}

/** ElisionReloaded records elided items that were read again in full. */
export interface ElisionReloaded {
  /** the model call of the record */
  call_id?: string;
  /** the items of the pass */
  elided_item_refs: Array<Elided>;
  /** the standard's name of the event */
  event_type?: "context.elision.reloaded";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** tokens of the window before the first change */
  first_changed_position?: number;
  /** how much is left of an item. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept. */
  level?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record: the pass */
  pass_id: string;
  /** the policy that decided */
  policy?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens of the elided items before the pass */
  tokens_before?: number;
  /** tokens that the pass saved */
  tokens_saved?: number;
  /** the cause that started the pass */
  trigger?: string;
}

/** EnvelopeCreated seals a scope. EnvelopeCreated is a portable snapshot of the scope's records and of their sequences. */
export interface EnvelopeCreated {
  /** the actors that took part */
  actor_refs?: Array<Ref>;
  /** assemblies of the scope */
  assembly_refs?: Array<Ref>;
  /** the budget in force */
  budget_ref?: Ref;
  /** compactions of the scope */
  compaction_refs?: Array<Ref>;
  /** id of the record */
  context_id: string;
  /** the standard's name of the event */
  event_type?: "context.envelope.created";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** injections of the scope */
  injection_refs?: Array<Ref>;
  /** items of the scope */
  item_refs?: Array<Ref>;
  /** lifecycle state of the context. Known words: draft, available, selected, assembled, injected, compacted, redacted, expired, archived. Other words are kept. */
  lifecycle: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** known gaps of the scope */
  missing_context_refs?: Array<Ref>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the program that recorded the scope */
  producer?: Ref;
  /** ids of runtime records that used the context, without their status */
  runtime_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** selections of the scope */
  selection_refs?: Array<Ref>;
  /** sequences of the events, per source */
  sequences?: Array<SequenceRanges>;
  /** surfaces of the scope */
  surface_refs?: Array<Ref>;
  /** the scope's own tags */
  tags?: Array<string>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** ErasureApplied records that content was erased on request. */
export interface ErasureApplied {
  /** keyed digest of the data subject whose content was erased; older facts hold its id */
  erased_subject: string;
  /** id of the record */
  erasure_id: string;
  /** the standard's name of the event */
  event_type?: "context.erasure.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the reason, for people */
  reason: string;
  /** the records whose content was erased */
  records?: Array<ErasedRecord>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** Exported records that an evidence pack was made. */
export interface Exported {
  /** signed tree head of the transparency log */
  checkpoint?: string;
  /** digest of the pack */
  digest?: string;
  /** the standard's name of the event */
  event_type?: "context.exported";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record */
  pack_id: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** FactsDropped records that a producer had to drop facts. Dropped facts use up their sequences. The hole in the sequences therefore stays visible. */
export interface FactsDropped {
  /** number of dropped facts */
  count: number;
  /** id of the record */
  drop_id: string;
  /** the standard's name of the event */
  event_type?: "context.facts.dropped";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the reason, for people */
  reason: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** sequences that the dropped facts used up, per source */
  sequences?: Array<SequenceRanges>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** GrantDenied records a refused request: a malformed grant, or a grant wider than the parent's. */
export interface GrantDenied {
  /** authenticated facts that the grants were minted from, such as user:u_1 */
  basis?: Array<Ref>;
  /** code of the denial */
  code?: string;
  /** the grants in force */
  effective?: Array<string>;
  /** the standard's name of the event */
  event_type?: "context.grant.denied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  grant_id: string;
  /** grants that the issuer holds or mints */
  grants?: Array<string>;
  /** whether the grants are the parent's, unchanged */
  inherited?: boolean;
  /** trusted code that decided */
  issuer?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** reason of the denial, for people */
  reason?: string;
  /** grants that the child requested; absent: inherit, empty: none */
  requested?: Array<string>;
  /** the rule that decided */
  rule?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** GrantIssued records namespace grants that trusted code minted for a run. */
export interface GrantIssued {
  /** authenticated facts that the grants were minted from, such as user:u_1 */
  basis?: Array<Ref>;
  /** code of the denial */
  code?: string;
  /** the grants in force */
  effective?: Array<string>;
  /** the standard's name of the event */
  event_type?: "context.grant.issued";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  grant_id: string;
  /** grants that the issuer holds or mints */
  grants?: Array<string>;
  /** whether the grants are the parent's, unchanged */
  inherited?: boolean;
  /** trusted code that decided */
  issuer?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** reason of the denial, for people */
  reason?: string;
  /** grants that the child requested; absent: inherit, empty: none */
  requested?: Array<string>;
  /** the rule that decided */
  rule?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** GrantNarrowed records the part of its parent's grants that a child run received. */
export interface GrantNarrowed {
  /** authenticated facts that the grants were minted from, such as user:u_1 */
  basis?: Array<Ref>;
  /** code of the denial */
  code?: string;
  /** the grants in force */
  effective?: Array<string>;
  /** the standard's name of the event */
  event_type?: "context.grant.narrowed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  grant_id: string;
  /** grants that the issuer holds or mints */
  grants?: Array<string>;
  /** whether the grants are the parent's, unchanged */
  inherited?: boolean;
  /** trusted code that decided */
  issuer?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** reason of the denial, for people */
  reason?: string;
  /** grants that the child requested; absent: inherit, empty: none */
  requested?: Array<string>;
  /** the rule that decided */
  rule?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** InjectionApplied records that context became visible to a target. */
export interface InjectionApplied {
  /** the assembly of blocks */
  assembly_id?: string;
  /** the message or item that the context is attached to */
  attached_to?: Ref;
  /** the run's resource binding whose provider supplied this context */
  binding_id?: string;
  /** the model call of the record */
  call_id?: string;
  /** the text, if the producer chose to send it inline */
  content?: string;
  /** the item that caused the change of persona */
  cue_item_ref?: Ref;
  /** keyed digest of the content */
  digest?: string;
  /** whether the context is removed after the call */
  ephemeral?: boolean;
  /** the standard's name of the event */
  event_type?: "context.injection.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  injection_id: string;
  /** kind of the injection: window, head, persona, reminder, memory, tool_visible, … */
  injection_kind?: string;
  /** place of the context in the request. Known words: system_prompt, developer_prompt, message_history, user_message_appendix, tool_argument, tool_visible_resource, runtime_metadata, ui_panel, review_export, peer_agent_message, artifact_input, custom. Other words are kept. */
  injection_point?: string;
  /** the items in it, in order */
  item_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the persona before */
  persona_from?: string;
  /** the persona after */
  persona_to?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the target that receives it, such as model */
  target?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** InjectionRemoved records that injected context was removed. */
export interface InjectionRemoved {
  /** the assembly of blocks */
  assembly_id?: string;
  /** the message or item that the context is attached to */
  attached_to?: Ref;
  /** the run's resource binding whose provider supplied this context */
  binding_id?: string;
  /** the model call of the record */
  call_id?: string;
  /** the text, if the producer chose to send it inline */
  content?: string;
  /** the item that caused the change of persona */
  cue_item_ref?: Ref;
  /** keyed digest of the content */
  digest?: string;
  /** whether the context is removed after the call */
  ephemeral?: boolean;
  /** the standard's name of the event */
  event_type?: "context.injection.removed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  injection_id: string;
  /** kind of the injection: window, head, persona, reminder, memory, tool_visible, … */
  injection_kind?: string;
  /** place of the context in the request. Known words: system_prompt, developer_prompt, message_history, user_message_appendix, tool_argument, tool_visible_resource, runtime_metadata, ui_panel, review_export, peer_agent_message, artifact_input, custom. Other words are kept. */
  injection_point?: string;
  /** the items in it, in order */
  item_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the persona before */
  persona_from?: string;
  /** the persona after */
  persona_to?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** the elision pass that removed the context */
  removed_by_pass?: string;
  /** the replacement for the removed context */
  replaced_by?: Ref;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the target that receives it, such as model */
  target?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** ItemAdded records a new item. */
export interface ItemAdded {
  /** the run's resource binding whose provider supplied this context */
  binding_id?: string;
  /** bytes of the content */
  byte_size?: number;
  /** inline content, if the producer chose to send it */
  content?: unknown;
  /** keyed digest of the content */
  content_digest?: string;
  /** how the item carries its content. Known words: inline, ref, summary, embedded_resource, resource_link, artifact_ref, tool_result_ref, opaque. Other words are kept. */
  content_mode?: string;
  /** location of the content */
  content_ref?: Ref;
  /** kind of the item. Known words: system_instruction, system_reminder, tool_definition, user_message, assistant_message, tool_call, tool_result, file_excerpt, document, knowledge_pack_item, memory, computed_summary. Other words are kept. */
  context_kind?: string;
  /** whether the item stays when other retrieved context is dropped */
  essential?: boolean;
  /** the estimator that counted the tokens */
  estimator?: string;
  /** the standard's name of the event */
  event_type?: "context.item.added";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how current the content is: a word or an object */
  freshness?: unknown;
  /** id of the record */
  item_id: string;
  /** BCP 47 tag */
  language?: string;
  /** layer of the window: system, user, tool_results, … */
  layer?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** media type of the content */
  mime_type?: string;
  /** the item that proposed this item; the model accepted the proposal */
  offered_by?: Ref;
  /** items and sources that the item proposes to the model */
  offers?: Array<Ref>;
  /** parts of the content, in order, if the content is more than one text */
  parts?: Array<Part>;
  /** whether the item must stay in the window */
  pinned?: boolean;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** priority; an item with a higher priority is kept longer */
  priority?: number;
  /** the file or resource that the content shows */
  reads?: string;
  /** why content is withheld */
  redaction_reason?: string;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** role of the message: system, user, assistant, tool */
  role?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** how sensitive the content is, such as internal */
  sensitivity?: string;
  /** where the content came from */
  source_refs?: Array<SourceRef>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** title for people */
  title?: string;
  /** tokens of the content */
  token_estimate?: number;
  /** how far the source is trusted */
  trust_level?: string;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
}

/** ItemRemoved records that an item is no longer available. */
export interface ItemRemoved {
  /** the standard's name of the event */
  event_type?: "context.item.removed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** id of the record */
  item_id: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the reason, for people */
  reason?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** ItemUpdated records the whole item after a change. */
export interface ItemUpdated {
  /** the run's resource binding whose provider supplied this context */
  binding_id?: string;
  /** bytes of the content */
  byte_size?: number;
  /** inline content, if the producer chose to send it */
  content?: unknown;
  /** keyed digest of the content */
  content_digest?: string;
  /** how the item carries its content. Known words: inline, ref, summary, embedded_resource, resource_link, artifact_ref, tool_result_ref, opaque. Other words are kept. */
  content_mode?: string;
  /** location of the content */
  content_ref?: Ref;
  /** kind of the item. Known words: system_instruction, system_reminder, tool_definition, user_message, assistant_message, tool_call, tool_result, file_excerpt, document, knowledge_pack_item, memory, computed_summary. Other words are kept. */
  context_kind?: string;
  /** whether the item stays when other retrieved context is dropped */
  essential?: boolean;
  /** the estimator that counted the tokens */
  estimator?: string;
  /** the standard's name of the event */
  event_type?: "context.item.updated";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how current the content is: a word or an object */
  freshness?: unknown;
  /** id of the record */
  item_id: string;
  /** BCP 47 tag */
  language?: string;
  /** layer of the window: system, user, tool_results, … */
  layer?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** media type of the content */
  mime_type?: string;
  /** the item that proposed this item; the model accepted the proposal */
  offered_by?: Ref;
  /** items and sources that the item proposes to the model */
  offers?: Array<Ref>;
  /** parts of the content, in order, if the content is more than one text */
  parts?: Array<Part>;
  /** whether the item must stay in the window */
  pinned?: boolean;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** priority; an item with a higher priority is kept longer */
  priority?: number;
  /** the file or resource that the content shows */
  reads?: string;
  /** why content is withheld */
  redaction_reason?: string;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** role of the message: system, user, assistant, tool */
  role?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** how sensitive the content is, such as internal */
  sensitivity?: string;
  /** where the content came from */
  source_refs?: Array<SourceRef>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** title for people */
  title?: string;
  /** tokens of the content */
  token_estimate?: number;
  /** how far the source is trusted */
  trust_level?: string;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
}

/** LogAppended records one entry of the append-only item log (seed 003). ItemType is message, function_call, function_call_output, reasoning or an extension of the form prefix:name. ToolCallID joins a function_call to its output. CallID is the model call that produced the entry. */
export interface LogAppended {
  /** bytes of the content */
  byte_size?: number;
  /** the model call of the record */
  call_id?: string;
  /** keyed digest of the content */
  content_digest?: string;
  /** the standard's name of the event */
  event_type?: "context.log.appended";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the context item that the entry carries */
  item_ref?: Ref;
  /** type of the entry: message, function_call, function_call_output, reasoning or prefix:name */
  item_type: string;
  /** id of the item log; default: the thread */
  log_id?: string;
  /** id of the record */
  log_item_id: string;
  /** properties of the content beyond the item type. Known words: reasoning_summary, encrypted_content, refusal. Other words are kept. */
  markers?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** name of the function */
  name?: string;
  /** the entry before this entry */
  parent_ref?: Ref;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** position in the item log, from 0 */
  position?: number;
  /** role of the message: system, user, assistant, tool */
  role?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** status of the entry: in_progress, completed or incomplete */
  status?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens by the call's estimator */
  tokens?: number;
  /** the tool call */
  tool_call_id?: string;
}

/** MissingDetected records that a gap was found. */
export interface MissingDetected {
  /** actions that wait for the end of the gap */
  blocked_actions?: Array<string>;
  /** the model call of the record */
  call_id?: string;
  /** items that could fill the gap */
  candidate_item_refs?: Array<Ref>;
  /** sources that might hold the missing information */
  candidate_sources?: Array<Record<string, unknown>>;
  /** the standard's name of the event */
  event_type?: "context.missing.detected";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record; the same in all facts of the gap */
  missing_id: string;
  /** the purpose that needs the missing information */
  needed_for?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the missing information, as a question */
  question?: string;
  /** the action that the owner should take */
  requested_action?: string;
  /** the owner of the missing information */
  requested_from?: Ref;
  /** records that ended the gap */
  resolution_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope?: string;
  /** severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept. */
  severity?: string;
  /** the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept. */
  status: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** summary that is safe to show to the user */
  user_summary?: string;
}

/** MissingRequested records that the owner was asked. */
export interface MissingRequested {
  /** actions that wait for the end of the gap */
  blocked_actions?: Array<string>;
  /** the model call of the record */
  call_id?: string;
  /** items that could fill the gap */
  candidate_item_refs?: Array<Ref>;
  /** sources that might hold the missing information */
  candidate_sources?: Array<Record<string, unknown>>;
  /** the standard's name of the event */
  event_type?: "context.missing.requested";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record; the same in all facts of the gap */
  missing_id: string;
  /** the purpose that needs the missing information */
  needed_for?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the missing information, as a question */
  question?: string;
  /** the action that the owner should take */
  requested_action?: string;
  /** the owner of the missing information */
  requested_from?: Ref;
  /** records that ended the gap */
  resolution_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope?: string;
  /** severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept. */
  severity?: string;
  /** the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept. */
  status: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** summary that is safe to show to the user */
  user_summary?: string;
}

/** MissingResolved records how the gap ended. */
export interface MissingResolved {
  /** actions that wait for the end of the gap */
  blocked_actions?: Array<string>;
  /** the model call of the record */
  call_id?: string;
  /** items that could fill the gap */
  candidate_item_refs?: Array<Ref>;
  /** sources that might hold the missing information */
  candidate_sources?: Array<Record<string, unknown>>;
  /** the standard's name of the event */
  event_type?: "context.missing.resolved";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** id of the record; the same in all facts of the gap */
  missing_id: string;
  /** the purpose that needs the missing information */
  needed_for?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the missing information, as a question */
  question?: string;
  /** the action that the owner should take */
  requested_action?: string;
  /** the owner of the missing information */
  requested_from?: Ref;
  /** records that ended the gap */
  resolution_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope?: string;
  /** severity of the gap. Known words: info, low, medium, high, blocking. Other words are kept. */
  severity?: string;
  /** the state of the gap. Known words: open, requested, waiting, resolved, declined, blocked, expired. Other words are kept. */
  status: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** summary that is safe to show to the user */
  user_summary?: string;
}

/** PressureApplied records one rung of the ladder of seed 000. PressureApplied also records a skipped rung, and a rung that saved too few tokens. */
export interface PressureApplied {
  /** the model call of the record */
  call_id?: string;
  /** the standard's name of the event */
  event_type?: "context.pressure.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** items that the rung touched */
  item_refs?: Array<Ref>;
  /** tokens that the prompt may use */
  limit_tokens?: number;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the provider's name of the model */
  model?: string;
  /** name of the rung */
  name: string;
  /** result of the rung. Known words: applied, skipped, insufficient, failed. Other words are kept. */
  outcome: string;
  /** the policy that decided */
  policy?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** id of the record */
  pressure_id: string;
  /** the reason, for people */
  reason?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** number of the rung, 1 to 5 */
  step: number;
  /** the summary that replaces the items */
  summary_ref?: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
}

/** RedactionApplied records that sensitive content was withheld. RedactionApplied holds a reason and policy refs, never the value. */
export interface RedactionApplied {
  /** the actor that decided */
  actor_ref?: Ref;
  /** the model call of the record */
  call_id?: string;
  /** the standard's name of the event */
  event_type?: "context.redaction.applied";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** fingerprints by which a key holder recognises the withheld values */
  fingerprints?: Array<Fingerprint>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** how the content was withheld, such as pattern */
  method?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the reason, for people */
  reason: string;
  /** names or JSON Pointers of the withheld fields */
  redacted_fields?: Array<string>;
  /** id of the record */
  redaction_id: string;
  /** state of the target's content after the redaction. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state: string;
  /** the replacement for the withheld content */
  replacement_ref?: Ref;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the item that was redacted */
  target_ref: Ref;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** RedactionRevoked records that the operator took a redaction back. From the position of the fact on, the redaction withholds nothing. Values that were masked before stay masked, and a value that another redaction withholds stays withheld. A later redaction counts again. */
export interface RedactionRevoked {
  /** the actor that decided */
  actor_ref?: Ref;
  /** the standard's name of the event */
  event_type?: "context.redaction.revoked";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the reason, for people */
  reason: string;
  /** the redaction that was taken back */
  redaction_id: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** ResourceAccessed records one operation on a resource, whether allowed or not. */
export interface ResourceAccessed {
  /** whether the operation was allowed */
  allowed?: boolean;
  /** id of the record: the binding of a resource to one run */
  binding_id: string;
  /** keyed digest of the settings */
  config_digest?: string;
  /** names of the provider's settings, never values */
  config_keys?: Array<string>;
  /** declared mode: read or read-write */
  declared_mode?: string;
  /** granted mode: read or read-write */
  effective_mode?: string;
  /** the standard's name of the event */
  event_type?: "context.resource.accessed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the grant that allowed the operation */
  matched_grant?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the resource's name in the manifest */
  name?: string;
  /** the operation, such as read, write or list */
  operation: string;
  /** path within the resource */
  path?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** kind of provider; default: the name */
  resource_kind?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tools exposed to the model */
  tools?: Array<string>;
}

/** ResourceResolved records the outcome of a declared resource: bound to a run, or without a provider. */
export interface ResourceResolved {
  /** id of the record: the binding of a resource to one run */
  binding_id: string;
  /** keyed digest of the settings */
  config_digest?: string;
  /** names of the provider's settings, never values */
  config_keys?: Array<string>;
  /** declared mode: read or read-write */
  declared_mode?: string;
  /** granted mode: read or read-write */
  effective_mode?: string;
  /** the standard's name of the event */
  event_type?: "context.resource.resolved";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the resource's name in the manifest */
  name?: string;
  /** outcome of the resolution; default: resolved. Known words: resolved, unresolved. Other words are kept. */
  outcome?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** why the resource is unresolved, for people */
  reason?: string;
  /** kind of provider; default: the name */
  resource_kind?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tools exposed to the model */
  tools?: Array<string>;
}

/** ScopeOpened records a run's context when the run starts (seed 000): its ids, its parent and its inherited values. Handles and secrets never appear. Of configurable values, only the names appear. */
export interface ScopeOpened {
  /** names of configurable values, never values */
  configurable_keys?: Array<string>;
  /** whether the agent's output is written back to its scratchpads */
  context_write?: boolean;
  /** depth of the run; 0 at the root */
  depth?: number;
  /** the standard's name of the event */
  event_type?: "context.scope.opened";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** names of the fields that the run inherited from its parent */
  inherited_fields?: Array<string>;
  /** metadata from the parent */
  inherited_metadata?: Record<string, unknown>;
  /** tags from the parent */
  inherited_tags?: Array<string>;
  /** limits of the run, by name */
  limits?: Record<string, unknown>;
  /** the run's own metadata */
  local_metadata?: Record<string, unknown>;
  /** deepest run allowed below the root */
  max_depth?: number;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the run that started this one */
  parent_run_id?: string;
  /** the parent's thread */
  parent_thread_id?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** rules by which the run's windows are made to fit */
  pressure_policy?: PressureRules;
  /** the runtime's name and version */
  program?: string;
  /** the first run of the tree */
  root_run_id?: string;
  /** id of the record */
  run_id: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** kind of the scope: session, agent, subagent, task. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope_kind?: string;
  /** names of stores that the run can reach */
  stores?: Array<string>;
  /** the run's own tags */
  tags?: Array<string>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** the thread */
  thread_id?: string;
  /** whether the run left its parent's thread */
  thread_overridden?: boolean;
}

/** ScratchpadLoaded records scratchpad text that entered the prompt. */
export interface ScratchpadLoaded {
  /** the legacy contextIds */
  context_ids?: Array<string>;
  /** keyed digests of the entries, see Key.Digest */
  digests?: Array<string>;
  /** entries loaded or written */
  entry_count?: number;
  /** the standard's name of the event */
  event_type?: "context.scratchpad.loaded";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** items in the window that hold the entries, in order */
  item_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** id of the record */
  scratchpad_id: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens of the text */
  tokens?: number;
}

/** ScratchpadWritten records output written back to scratchpads. */
export interface ScratchpadWritten {
  /** the legacy contextIds */
  context_ids?: Array<string>;
  /** keyed digests of the entries, see Key.Digest */
  digests?: Array<string>;
  /** entries loaded or written */
  entry_count?: number;
  /** the standard's name of the event */
  event_type?: "context.scratchpad.written";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** items in the window that hold the entries, in order */
  item_refs?: Array<Ref>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** id of the record */
  scratchpad_id: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens of the text */
  tokens?: number;
}

/** SelectionCompleted records the decision. Candidates = Selected + Omitted. Each omission has a reason; see boundary rule 4. */
export interface SelectionCompleted {
  /** the actor that decided */
  actor_ref?: Ref;
  /** the budget in force */
  budget_ref?: Ref;
  /** the model call of the record */
  call_id?: string;
  /** Candidates are all considered items, in the order of consideration. */
  candidate_item_refs?: Array<Ref>;
  /** the standard's name of the event */
  event_type?: "context.selection.completed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** purpose of the query */
  intent?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the model that decided, if one did */
  model_ref?: Ref;
  /** items that were left out, each with a reason */
  omitted_item_refs?: Array<Candidate>;
  /** Part is the number of this part, from 1 to Parts, of a selection that is too large for one event. Part and Parts are nil for a selection in one event. */
  part?: number;
  /** number of parts */
  parts?: number;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** text of the query */
  query?: string;
  /** the reason, for people */
  rationale?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** items that were chosen */
  selected_item_refs?: Array<Candidate>;
  /** id of the record; the same for all parts */
  selection_id: string;
  /** the policy that decided */
  selection_policy?: Ref;
  /** the surface of the candidates */
  surface_id: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** SelectionStarted records the question and the candidates before the decision. */
export interface SelectionStarted {
  /** the actor that decided */
  actor_ref?: Ref;
  /** the model call of the record */
  call_id?: string;
  /** Candidates are all considered items, in the order of consideration. */
  candidate_item_refs?: Array<Ref>;
  /** the standard's name of the event */
  event_type?: "context.selection.started";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** purpose of the query */
  intent?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the model that decided, if one did */
  model_ref?: Ref;
  /** Part is the number of this part, from 1 to Parts, of a selection that is too large for one event. Part and Parts are nil for a selection in one event. */
  part?: number;
  /** number of parts */
  parts?: number;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** text of the query */
  query?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** id of the record; the same for all parts */
  selection_id: string;
  /** the surface of the candidates */
  surface_id: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
}

/** SummaryCreated records a new summary. */
export interface SummaryCreated {
  /** bytes of the content */
  byte_size?: number;
  /** the text, if the producer chose to send it inline */
  content?: string;
  /** keyed digest of the content */
  content_digest?: string;
  /** location of the content */
  content_ref?: Ref;
  /** last position in the item log that the summary covers */
  covers_through_position?: number;
  /** id of the running log's sub-context */
  ephemeral_context_id?: string;
  /** the standard's name of the event */
  event_type?: "context.summary.created";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how current the content is: a word or an object */
  freshness?: unknown;
  /** goals that the summary keeps */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** questions that the summary leaves open */
  open_questions?: Array<string>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** when the summary is refreshed */
  refresh_policy?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** id of the record */
  summary_id: string;
  /** kind of the summary: thread_summary, running_log, … */
  summary_kind?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** SummaryRefreshed records the whole summary after a refresh. */
export interface SummaryRefreshed {
  /** bytes of the content */
  byte_size?: number;
  /** the text, if the producer chose to send it inline */
  content?: string;
  /** keyed digest of the content */
  content_digest?: string;
  /** location of the content */
  content_ref?: Ref;
  /** last position in the item log that the summary covers */
  covers_through_position?: number;
  /** id of the running log's sub-context */
  ephemeral_context_id?: string;
  /** the standard's name of the event */
  event_type?: "context.summary.refreshed";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how current the content is: a word or an object */
  freshness?: unknown;
  /** goals that the summary keeps */
  goal_refs?: Array<Ref>;
  /** content that the summary leaves out */
  loss_notes?: Array<string>;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** questions that the summary leaves open */
  open_questions?: Array<string>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** when the summary is refreshed */
  refresh_policy?: string;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** items that the summary covers, in order */
  source_item_refs?: Array<Ref>;
  /** the model call that wrote the summary */
  summarizer_call_id?: string;
  /** id of the record */
  summary_id: string;
  /** kind of the summary: thread_summary, running_log, … */
  summary_kind?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** SurfaceCreated records a surface when it is first offered. */
export interface SurfaceCreated {
  /** items that could be chosen */
  available_item_refs?: Array<Ref>;
  /** sources that could be read */
  available_source_refs?: Array<Ref>;
  /** tools and skills that could be used */
  capability_refs?: Array<Ref>;
  /** the standard's name of the event */
  event_type?: "context.surface.created";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** when the surface expires, RFC 3339 */
  expires_at?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope?: string;
  /** id of the record */
  surface_id: string;
  /** kind of the surface. Known words: workspace, model_call. Other words are kept. */
  surface_kind?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
}

/** SurfaceUpdated records the whole surface after a change. */
export interface SurfaceUpdated {
  /** items that could be chosen */
  available_item_refs?: Array<Ref>;
  /** sources that could be read */
  available_source_refs?: Array<Ref>;
  /** tools and skills that could be used */
  capability_refs?: Array<Ref>;
  /** the standard's name of the event */
  event_type?: "context.surface.updated";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** when the surface expires, RFC 3339 */
  expires_at?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the scope that the record is about. Known words: turn, task, session, tool_invocation, review, handoff, custom. Other words are kept. */
  scope?: string;
  /** id of the record */
  surface_id: string;
  /** kind of the surface. Known words: workspace, model_call. Other words are kept. */
  surface_kind?: string;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
}

/** UsageRecorded records one model call: the estimated tokens of each layer of its window, and the tokens that the provider billed. The two are never mixed. */
export interface UsageRecorded {
  /** the model that answered, as the provider named it */
  answered_model?: string;
  /** the assembly of blocks */
  assembly_id?: string;
  /** lifetime of the prompt cache in seconds */
  cache_lifetime_seconds?: number;
  /** id of the record: the model call */
  call_id: string;
  /** cost of the call, in currency */
  cost?: number;
  /** whether the record has everything that the model received. Known words: complete, partial. Other words are kept. */
  coverage?: string;
  /** why the coverage is partial. Known words: system_unknown, tools_unknown, entries_missing, slice_missing, base_missing, chain_too_long, call_missing, digest_mismatch, opaque_blocks, truncated, previous_unobserved, user_returned. Other words are kept. */
  coverage_reasons?: Array<string>;
  /** ISO 4217 code */
  currency?: string;
  /** the estimator that counted the tokens */
  estimator?: string;
  /** the standard's name of the event */
  event_type?: "context.usage.recorded";
  /** evidence that cites the record */
  evidence_refs?: Array<Ref>;
  /** how the record is known. Known words: wire, serialized, stated, reported, reconstructed. Other words are kept. */
  fidelity?: string;
  /** seconds since the last call of the lineage */
  gap_seconds?: number;
  /** estimated tokens of the conversation */
  history_tokens?: number;
  /** the layers of the window, each with its tokens */
  layers?: Array<LayerUsage>;
  /** id of the calls that share a prompt cache */
  lineage_id?: string;
  /** the producer's own values, outside the contract */
  metadata?: Record<string, unknown>;
  /** the provider's name of the model */
  model?: string;
  /** policies that applied */
  policy_refs?: Array<Ref>;
  /** the price list of the cost */
  price_ref?: Ref;
  /** the provider's id of the answer; the same in all tellings of the call */
  provider_message_id?: string;
  /** the provider's own numbers, as sent */
  provider_usage?: Record<string, unknown>;
  /** version of the Agent Context standard */
  schema_version?: string;
  /** the provider's word for the stop reason */
  stop_reason?: string;
  /** keyed digest of the system prompt */
  system_digest?: string;
  /** estimated tokens of the system prompt */
  system_tokens?: number;
  /** the call's own tags */
  tags?: Array<string>;
  /** spans and traces */
  telemetry_refs?: Array<Ref>;
  /** keyed digest of the tool definitions */
  tools_digest?: string;
  /** estimated tokens of the tool definitions */
  tools_tokens?: number;
  /** estimated tokens of the window */
  total_tokens?: number;
  /** tokens that the provider billed, each in one bucket */
  usage?: ProviderUsage;
  /** The window was built from the item log's entries from WindowFirst up to, not including, WindowNext. */
  window_first_position?: number;
  /** end position in the item log, not included */
  window_next_position?: number;
}

/** Block is one ordered part of an assembly. */
export interface Block {
  /** the block's name or id */
  block?: string;
  /** the text, if the producer chose to send it inline */
  content?: string;
  /** keyed digest of the content */
  digest?: string;
  /** digest of the block's canonical bytes under the tenant's equality key */
  equality_digest?: string;
  /** the items in it, in order */
  item_refs?: Array<Ref>;
  /** layer of the window: system, user, tool_results, … */
  layer?: string;
  /** position of the block; 0 is first */
  position?: number;
  /** how much of the content is withheld. Known words: none, masked, removed, summarized, encrypted_ref, policy_blocked, unknown. Other words are kept. */
  redaction_state?: string;
  /** role of the message: system, user, assistant, tool */
  role?: string;
  /** tokens by the call's estimator */
  tokens?: number;
  /** the targets that may see it. Known words: model, tool, runtime, ui, user, reviewer, peer_agent, evidence_export. Other words are kept. */
  visibility?: Array<string>;
  /** the wrapper around the items */
  wrapper?: string;
}

/** Candidate is an item as a selection saw it. An omitted candidate has a Reason. A selected candidate may have a Reason. A bare item id, which the standard also allows, reads as a Candidate with only ItemRef. */
export interface Candidate {
  /** the item */
  item_ref?: Ref;
  /** note for people */
  note?: string;
  /** rank of the item; 1 is best */
  rank?: number;
  /** why the item was left out; required for omitted items. Known words: budget_limit, low_relevance, duplicate, stale, policy_blocked, permission_missing, unsupported_media, too_large, sensitive, superseded_by_summary, not_visible_to_target, custom. Other words are kept. */
  reason?: string;
  /** score of the item; higher is better */
  score?: number;
  /** parts of the score, by name */
  signals?: Record<string, unknown>;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** Elided is one item of an elision pass. */
export interface Elided {
  /** the item */
  item_ref?: Ref;
  /** level of the item, if it differs from the level of the pass. Known words: trivial, simple, offloaded, summarized, hybrid. Other words are kept. */
  level?: string;
  /** how the agent used the item, as the stub reports */
  note?: string;
  /** position in the item log */
  position?: number;
  /** why the pass chose this item */
  reason?: string;
  /** location of the full content */
  reload_ref?: Ref;
  /** keyed digest of the stub */
  stub_digest?: string;
  /** tokens after the change */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
  /** the tool call */
  tool_call_id?: string;
}

/** ErasedRecord is one record whose content was erased. Its place remains: in the log, among the records of its producer, and in its scopes. */
export interface ErasedRecord {
  /** the item that the record was a version of */
  item_id?: string;
  /** leaf hash in the transparency log, hex */
  leaf?: string;
  /** run of the event */
  run_id?: string;
  /** position in the stream */
  sequence?: number;
  /** session of the event */
  session_id?: string;
  /** the event's source attribute */
  source?: string;
  /** the event's sequence attribute: a count per source and session */
  source_sequence?: number;
  /** JetStream stream */
  stream?: string;
  /** turn of the event */
  turn_id?: string;
}

/** Fingerprint lets a holder of the tenant key recognise a withheld value without a copy of the value. Values shorter than 8 bytes have no fingerprint. */
export interface Fingerprint {
  /** HMAC-SHA-256 of the whole value, hex */
  hmac?: string;
  /** the tenant key */
  key_id?: string;
  /** length of the value in bytes */
  length?: number;
  /** keyed rolling hash of the first 8 bytes, hex */
  prefix_hash?: string;
}

/** LayerUsage is one contributor's share of a window (seed 003). */
export interface LayerUsage {
  /** whether the layer changed since the last call of the lineage */
  changed?: boolean;
  /** items of the layer */
  items?: number;
  /** layer of the window: system, user, tool_results, … */
  layer?: string;
  /** place of the layer in the window */
  placement?: string;
  /** the estimator that counted the reported tokens */
  reported_estimator?: string;
  /** tokens that the layer itself reports */
  reported_tokens?: number;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** Part is one part of an item's content (seed 003): a text, an image, a file. Part refers to its content and never holds it. A text needs a reference, a digest or a size. Any other part needs a reference. */
export interface Part {
  /** bytes of the content */
  byte_size?: number;
  /** must be absent: a part refers to its content */
  content?: unknown;
  /** detail at which the model views the part: auto, low, high */
  detail?: string;
  /** keyed digest of the content */
  digest?: string;
  /** the estimator that counted the tokens */
  estimator?: string;
  /** media type of the content */
  mime_type?: string;
  /** name of the part, such as a file name */
  name?: string;
  /** kind of the part: text, image, file, …. Known words: text, image, file, audio. Other words are kept. */
  part_kind?: string;
  /** location of the content */
  ref?: Ref;
  /** tokens of the part */
  tokens?: number;
}

/** PressureRules are the rules by which windows are made to fit (seed 000). An absent rule is the runtime's default, or unknown. */
export interface PressureRules {
  /** newest tool results that stay whole */
  compact_keep_last_items?: number;
  /** tokens of the stub for a tool result */
  compact_stub_tokens?: number;
  /** percentage of the limit above which the ladder runs */
  high_water_percent?: number;
  /** name of the policy */
  name?: string;
  /** rungs of the ladder, in the order in which they run */
  steps?: Array<string>;
  /** newest messages that are not summarised */
  summarize_keep_last_items?: number;
  /** tokens above which the ladder runs */
  trigger_tokens?: number;
  /** oldest messages that trimming leaves */
  trim_keep_first_items?: number;
  /** newest messages that trimming leaves */
  trim_keep_last_items?: number;
  /** role with which a trimmed conversation begins */
  trim_start_on?: string;
}

/** ProviderUsage is the provider's bill for one call, in tokens, each token in exactly one bucket. The provider's window is the sum of the input buckets: UncachedInput, CacheRead and the three cache writes. If a provider counts cached input inside input, or reasoning inside output, the producer subtracts it. */
export interface ProviderUsage {
  /** input tokens read from the cache */
  cache_read_tokens?: number;
  /** input tokens written to the one-hour cache */
  cache_write_1h_tokens?: number;
  /** input tokens written to the five-minute cache */
  cache_write_5m_tokens?: number;
  /** input tokens written to a cache of unreported lifetime */
  cache_write_tokens?: number;
  /** output tokens without reasoning */
  output_tokens?: number;
  /** reasoning tokens */
  reasoning_tokens?: number;
  /** input tokens that were not in the cache */
  uncached_input_tokens?: number;
}

/** Ref refers to another record: an item, a surface, a policy, a source. The standard allows a string or an object. A Ref keeps an object as its JSON text. A Ref is therefore comparable, costs one string and travels unchanged. The zero value is no reference. */
export type Ref = string | Record<string, unknown>;

/** Reinjected is system state that a compaction put back into the window. */
export interface Reinjected {
  /** kind of the state: skills, todo, recent_files, … */
  kind?: string;
  /** location of the state */
  ref?: Ref;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** Segment is one part of a window. The budget's estimator counts its tokens. */
export interface Segment {
  /** tokens that the part uses */
  actual?: number;
  /** the items in it, in order */
  item_refs?: Array<Ref>;
  /** layer of the window: system, user, tool_results, … */
  layer?: string;
  /** position in the window; 0 is first */
  order?: number;
  /** tokens reserved for the part */
  reserved?: number;
  /** role of the message: system, user, assistant, tool */
  role?: string;
  /** the part's name */
  segment?: string;
}

/** SequenceRanges are the sequences that one source used in a scope, as closed ranges. Parallel runs of a session interleave. A source may therefore have several ranges. */
export interface SequenceRanges {
  /** closed ranges first, last, in order */
  ranges?: Array<Array<number>>;
  /** the events' source attribute */
  source?: string;
}

/** SourceRef names the source of content. */
export interface SourceRef {
  /** the authority that vouches for the source */
  authority?: string;
  /** keyed digest of the content */
  digest?: string;
  /** ids of the source in other systems */
  external_mappings?: Array<Record<string, unknown>>;
  /** when the source last changed, RFC 3339 */
  modified_at?: string;
  /** when the source was read, RFC 3339 */
  retrieved_at?: string;
  /** the part of the source: an object with a type, an array or a string */
  selector?: unknown;
  /** id of the source */
  source_id?: string;
  /** kind of the source. Known words: file, artifact, turn, tool_call. Other words are kept. */
  source_kind?: string;
  /** location of the source */
  uri?: string;
}

/** SourceWindow names the range of the item log that a summary covers. SourceWindow is a reference, never a copy. */
export interface SourceWindow {
  /** its first item */
  first_item_ref?: Ref;
  /** first position in the item log */
  first_position?: number;
  /** items in the window */
  item_count?: number;
  /** its last item */
  last_item_ref?: Ref;
  /** last position in the item log, included */
  last_position?: number;
  /** the thread */
  thread_id?: string;
  /** tokens by the call's estimator */
  tokens?: number;
}

/** Truncation records one item that was shortened or taken out of the window. */
export interface Truncation {
  /** the item */
  item_ref?: Ref;
  /** the reason, for people */
  reason?: string;
  /** how the item was shortened or taken out */
  strategy?: string;
  /** tokens after the change; 0 if the item is not in the window */
  tokens_after?: number;
  /** tokens before the change */
  tokens_before?: number;
}

/** The data of each event type, by the type's name. */
export interface Facts {
  "context.assembly.created": AssemblyCreated;
  "context.budget.applied": BudgetApplied;
  "context.compaction.completed": CompactionCompleted;
  "context.compaction.discarded": CompactionDiscarded;
  "context.compaction.failed": CompactionFailed;
  "context.compaction.started": CompactionStarted;
  "context.elision.applied": ElisionApplied;
  "context.elision.reloaded": ElisionReloaded;
  "context.envelope.created": EnvelopeCreated;
  "context.erasure.applied": ErasureApplied;
  "context.exported": Exported;
  "context.facts.dropped": FactsDropped;
  "context.grant.denied": GrantDenied;
  "context.grant.issued": GrantIssued;
  "context.grant.narrowed": GrantNarrowed;
  "context.injection.applied": InjectionApplied;
  "context.injection.removed": InjectionRemoved;
  "context.item.added": ItemAdded;
  "context.item.removed": ItemRemoved;
  "context.item.updated": ItemUpdated;
  "context.log.appended": LogAppended;
  "context.missing.detected": MissingDetected;
  "context.missing.requested": MissingRequested;
  "context.missing.resolved": MissingResolved;
  "context.pressure.applied": PressureApplied;
  "context.redaction.applied": RedactionApplied;
  "context.redaction.revoked": RedactionRevoked;
  "context.resource.accessed": ResourceAccessed;
  "context.resource.resolved": ResourceResolved;
  "context.scope.opened": ScopeOpened;
  "context.scratchpad.loaded": ScratchpadLoaded;
  "context.scratchpad.written": ScratchpadWritten;
  "context.selection.completed": SelectionCompleted;
  "context.selection.started": SelectionStarted;
  "context.summary.created": SummaryCreated;
  "context.summary.refreshed": SummaryRefreshed;
  "context.surface.created": SurfaceCreated;
  "context.surface.updated": SurfaceUpdated;
  "context.usage.recorded": UsageRecorded;
}
