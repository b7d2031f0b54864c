-- The views are what people query: their columns change only by addition. This
-- file has one view a kind of fact; 0005 has the views that answer a question,
-- 0006 the checks that must be empty.
--
-- Every view reads its table with FINAL, so a row that was stored twice counts
-- once. A row never moves to another month, so months are not merged with each
-- other. The setting stands in the view: it works for readers that may not
-- change settings.
--
-- In the lists below, HEAD is: incarnation, stream_seq (the event's position),
-- recorded_at (when the stream stored it, UTC), event_time (when it happened,
-- UTC), event_id, source, event_type, sequence, and every correlation id of the
-- event: tenant, agent, resource_id, runtime_id, session_id, thread_id,
-- turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id,
-- evidence_id, context_id, parent_run_id, root_run_id. An id that the event did
-- not have is ''. A number that is not known is NULL, which is not zero.
--
-- thread_order orders the facts of one thread: the producer's sequence, or the
-- stream's for a producer that keeps none.

-- recorded_events: one row an event.
--   HEAD, subject, data (JSON as it came), data_classification, digest (SHA-256),
--   traceparent, tracestate, correlation_id, causation_id, extensions
CREATE OR REPLACE VIEW recorded_events AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    subject, data, data_classification, digest, traceparent, tracestate, correlation_id, causation_id, extensions
FROM events FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- ledger_head: one row: when the newest event was recorded.
--   recorded_at (UTC), events (rows stored, repeats included)
CREATE OR REPLACE VIEW ledger_head AS
SELECT max(recorded_at) AS recorded_at, count() AS events FROM events;

-- refused_events: one row a message that was refused.
--   incarnation, stream_seq, recorded_at, tenant, source, event_id, stream_subject,
--   header (JSON object of arrays), data (exact bytes), code and pointer of the
--   first violation, reason (all of them, for people), codes (all)
CREATE OR REPLACE VIEW refused_events AS
SELECT * FROM quarantine FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- repeated_events: one row an event whose identity (source, id) was there already.
--   incarnation, stream_seq, recorded_at, tenant, session_id, source, event_id,
--   first_incarnation, first_seq (where the first of them is)
CREATE OR REPLACE VIEW repeated_events AS
SELECT * FROM duplicates FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- model_calls: one row a model call, as the provider billed it. A call that was
-- recorded twice (a log that was imported again after it grew) is its version
-- with the most output tokens.
--   HEAD, thread_order, call_id, model,
--   uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write (of
--   unreported lifetime), output, reasoning: tokens, disjoint buckets
--   cache_written: tokens, the three cache writes together
--   window_tokens: tokens, all input buckets, which is what the model saw
--   recomputed_billed: tokens of the window that were not read from the cache
--   estimated_tokens: tokens of the window by our estimator
--   lineage_id (calls that share a prompt cache; the thread where none was given),
--   assembly_id, system_digest, tools_digest, gap_seconds (since the last call of
--   the lineage), cache_lifetime_seconds (as recorded), cost (in currency),
--   currency, price_ref, stop_reason, window_first, window_next (positions of the
--   item log: from, up to and not including), provider_usage (JSON, as sent)
--   synthetic: true for an answer that the program wrote itself; no model saw a window
--   metadata (JSON)
CREATE OR REPLACE VIEW model_calls AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, call_id, model,
    uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning,
    if(cache_write IS NULL AND cache_write_5m IS NULL AND cache_write_1h IS NULL, NULL,
        ifNull(cache_write, 0) + ifNull(cache_write_5m, 0) + ifNull(cache_write_1h, 0)) AS cache_written,
    window_tokens, window_tokens - cache_read AS recomputed_billed, estimated_tokens,
    if(lineage_id = '', thread_id, lineage_id) AS lineage_id, assembly_id, system_digest, tools_digest,
    gap_seconds, cache_lifetime_seconds, cost, currency, price_ref, stop_reason, window_first, window_next,
    provider_usage, JSONExtractBool(metadata, 'synthetic') AS synthetic, metadata
FROM
(
    SELECT *, row_number() OVER (PARTITION BY tenant, session_id, call_id ORDER BY output DESC NULLS LAST, recorded_at, stream_seq) AS version
    FROM calls FINAL
)
WHERE version = 1
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- log_entries: one row an entry of a thread's append-only item log.
--   HEAD, thread_order, log_item_id, log_id, position (0 is first), item_type
--   (message, function_call, function_call_output, reasoning, prefix:name), role,
--   name (of the function), call_id (the model call that produced it), status,
--   item_ref, parent_ref, tokens, byte_size (bytes), content_digest, metadata (JSON)
CREATE OR REPLACE VIEW log_entries AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, log_item_id, log_id, position, item_type, role, name,
    call_id, status, item_ref, parent_ref, tokens, byte_size, content_digest, metadata
FROM log_items FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- item_versions: one row a version of a context item.
--   HEAD, thread_order, change (added, updated, removed), item_id, context_kind,
--   title, content_mode, content_ref, content_digest (keyed), mime_type, language,
--   source_uris, source_kinds, source_digests (in parallel), token_estimate
--   (tokens), estimator, byte_size (bytes), trust_level, sensitivity,
--   redaction_state, redaction_reason, policy_refs, visibility, priority, layer,
--   role, reason (of a removal), metadata (JSON)
CREATE OR REPLACE VIEW item_versions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, item_id, context_kind, title, content_mode,
    content_ref, content_digest, mime_type, language, source_uris, source_kinds, source_digests, token_estimate,
    estimator, byte_size, trust_level, sensitivity, redaction_state, redaction_reason, policy_refs, visibility,
    priority, layer, role, reason, metadata
FROM items FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- selections: one row a selection event (a split selection has one a part).
--   HEAD, thread_order, change (started, completed), selection_id, surface_id,
--   call_id, query, intent, policy, rationale, actor, model, budget_ref, part,
--   parts, candidate_refs (all that were considered),
--   item_refs, outcomes (selected, omitted), ranks (1 is best), scores, tokens,
--   reasons, notes, signals: in parallel, over the decided candidates
--   metadata (JSON)
CREATE OR REPLACE VIEW selections AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, substring(record_kind, 11) AS change, record_id AS selection_id,
    surface_id, call_id, query, intent, policy, rationale, actor, model, budget_ref, part, parts, candidate_refs,
    item_refs, outcomes, ranks, scores, tokens, reasons, notes, signals, metadata
FROM decisions FINAL
WHERE record_kind IN ('selection_started', 'selection_completed')
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- surfaces: one row a version of a surface, which is what was available.
--   HEAD, thread_order, change (created, updated), surface_id, surface_kind,
--   available_refs, metadata (JSON)
CREATE OR REPLACE VIEW surfaces AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, substring(record_kind, 9) AS change,
    surface_id, surface_kind, candidate_refs AS available_refs, metadata
FROM decisions FINAL
WHERE record_kind IN ('surface_created', 'surface_updated')
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- budgets: one row a budget that was applied to a window.
--   HEAD, thread_order, budget_id, call_id, model, estimator, target, max_tokens,
--   max_bytes, max_items, reserved_tokens (kept free for the output), estimated_tokens (of the prompt),
--   actual_tokens, actual_bytes, actual_items, overflow_strategy,
--   headroom_tokens: max − reserved − actual, or − estimated where actual is not known
--   segments, segment_roles, segment_layers, segment_tokens, segment_items,
--   segment_reserved (tokens): in parallel, over the window's segments
--   truncated_refs, truncated_before, truncated_after (tokens),
--   truncated_strategies: in parallel, over the items that were shortened
--   metadata (JSON)
CREATE OR REPLACE VIEW budgets AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS budget_id, call_id, model, estimator, target,
    max_tokens, max_bytes, max_items, reserved_tokens, estimated_tokens, actual_tokens, actual_bytes, actual_items, overflow_strategy,
    max_tokens - ifNull(reserved_tokens, 0) - coalesce(actual_tokens, estimated_tokens) AS headroom_tokens,
    segments, segment_roles, segment_layers, segment_tokens, segment_items, segment_reserved,
    truncated_refs, truncated_before, truncated_after, truncated_strategies, metadata
FROM windows FINAL
WHERE record_kind = 'budget'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- pressure_steps: one row a rung of the pressure ladder that was tried.
--   HEAD, thread_order, pressure_id, call_id, model, step (1 to 5), step_name,
--   policy, outcome (applied, skipped, insufficient, failed), tokens_before,
--   tokens_after, limit_tokens (what the prompt may use), item_refs, reason,
--   metadata (JSON)
CREATE OR REPLACE VIEW pressure_steps AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS pressure_id, call_id, model, step, step_name,
    policy, outcome, tokens_before, tokens_after, limit_tokens, item_refs, reason, metadata
FROM windows FINAL
WHERE record_kind = 'pressure'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- assemblies: one row an assembly, the ordered blocks made for one target.
--   HEAD, thread_order, assembly_id, call_id, target, item_refs, redaction_state,
--   budget_ref,
--   blocks, block_items, block_positions (0 is first), block_layers, block_roles,
--   block_wrappers, block_tokens, block_digests, block_redactions: in parallel
--   metadata (JSON)
CREATE OR REPLACE VIEW assemblies AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, assembly_id, call_id, target, item_refs, redaction_state,
    budget_ref, blocks, block_items, block_positions, block_layers, block_roles, block_wrappers, block_tokens,
    block_digests, block_redactions, metadata
FROM placements FINAL
WHERE record_kind = 'assembly'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- injections: one row an injection, or its removal.
--   HEAD, thread_order, change (applied, removed), injection_id, call_id,
--   assembly_id, target, injection_point, injection_kind, attached_to, ephemeral,
--   persona_from, persona_to, cue_item_ref, replaced_by, removed_by_pass,
--   item_refs, tokens, digest, redaction_state, metadata (JSON)
CREATE OR REPLACE VIEW injections AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, if(record_kind = 'removal', 'removed', 'applied') AS change,
    record_id AS injection_id, call_id, assembly_id, target, injection_point, injection_kind, attached_to, ephemeral,
    persona_from, persona_to, cue_item_ref, replaced_by, removed_by_pass, item_refs, tokens, digest, redaction_state,
    metadata
FROM placements FINAL
WHERE record_kind IN ('injection', 'removal')
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- compactions: one row a step of a compaction. A step that was recorded twice
-- (a log that grew by the summary) is its version with a summary.
--   HEAD, thread_order, change (started, completed, failed, discarded),
--   compaction_id, call_id, scope, source_item_refs, source_thread_id,
--   first_item_ref, last_item_ref, first_position, last_position (of the item log,
--   both included), item_count, source_tokens, summary_ref, method, trigger,
--   coverage (JSON), loss_notes, validation (JSON), replacement_policy,
--   reinjected_kinds, reinjected_refs, reinjected_tokens (in parallel),
--   retained_tail_refs, tokens_before, tokens_after, summarizer_call_id, reason,
--   metadata (JSON)
CREATE OR REPLACE VIEW compactions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS compaction_id, call_id, scope,
    source_item_refs, if(source_thread_id = '', thread_id, source_thread_id) AS source_thread_id, first_item_ref,
    last_item_ref, first_position, last_position, item_count, source_tokens, summary_ref, method, trigger, coverage,
    loss_notes, validation, replacement_policy, reinjected_kinds, reinjected_refs, reinjected_tokens,
    retained_tail_refs, tokens_before, tokens_after, summarizer_call_id, reason, metadata
FROM
(
    SELECT *, row_number() OVER (PARTITION BY tenant, session_id, record_id, change ORDER BY summary_ref = '', recorded_at, stream_seq) AS version
    FROM replacements FINAL
    WHERE record_kind = 'compaction'
)
WHERE version = 1
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- elisions: one row an elision pass, or the reload of one.
--   HEAD, thread_order, change (applied, reloaded), pass_id, call_id, policy,
--   trigger, level, tokens_before, tokens_after, tokens_saved,
--   first_changed_position (of the window, in tokens, counted from its start),
--   elided_refs, elided_tool_call_ids, elided_positions (of the item log),
--   elided_before, elided_after (tokens), elided_levels, elided_reload_refs: in parallel
--   metadata (JSON)
CREATE OR REPLACE VIEW elisions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS pass_id, call_id, policy, trigger,
    level, tokens_before, tokens_after, tokens_saved, first_changed_position, elided_refs, elided_tool_call_ids,
    elided_positions, elided_before, elided_after, elided_levels, elided_reload_refs, metadata
FROM replacements FINAL
WHERE record_kind = 'elision'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- summaries: one row a version of a summary.
--   HEAD, thread_order, change (created, refreshed), summary_id, summary_kind,
--   source_item_refs, content_ref, content_digest, tokens,
--   covers_through_position (of the item log), loss_notes, open_questions,
--   refresh_policy, ephemeral_context_id, metadata (JSON)
CREATE OR REPLACE VIEW summaries AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS summary_id, summary_kind,
    source_item_refs, content_ref, content_digest, tokens, covers_through_position, loss_notes, open_questions,
    refresh_policy, ephemeral_context_id, metadata
FROM replacements FINAL
WHERE record_kind = 'summary'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- redaction_trail: one row a redaction. The withheld value is nowhere.
--   HEAD, thread_order, redaction_id, call_id, target_ref, redaction_state, method,
--   redacted_fields, reason, policy_refs, actor, replacement_ref,
--   fingerprint_keys (ids of the tenant keys), fingerprint_lengths (bytes): in parallel
--   metadata (JSON)
CREATE OR REPLACE VIEW redaction_trail AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS redaction_id, call_id, target_ref,
    redaction_state, method, redacted_fields, reason, policy_refs, actor, replacement_ref, fingerprint_keys,
    fingerprint_lengths, metadata
FROM redactions FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- gap_steps: one row a step in the life of a gap.
--   HEAD, thread_order, change (detected, requested, resolved), missing_id, scope,
--   call_id, question, needed_for, severity, candidate_sources (JSON),
--   candidate_item_refs, blocked_actions, requested_from (the owner),
--   requested_action, user_summary (safe to show), status, resolution_refs,
--   policy_refs, metadata (JSON)
CREATE OR REPLACE VIEW gap_steps AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, missing_id, scope, call_id, question, needed_for,
    severity, candidate_sources, candidate_item_refs, blocked_actions, requested_from, requested_action, user_summary,
    status, resolution_refs, policy_refs, metadata
FROM missing FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- scope_records: one row a run, grant, resource, scratchpad or envelope, told
-- apart by record_kind (run; grant_issued, grant_narrowed, grant_denied;
-- resource_resolved, resource_accessed; scratchpad_loaded, scratchpad_written;
-- envelope). The columns of the other kinds are empty.
--   HEAD, then the columns of the table scopes
CREATE OR REPLACE VIEW scope_records AS
SELECT * FROM scopes FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
