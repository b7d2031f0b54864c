-- One row a version of a context item.
--
-- Needs: items, retold.
--
--   HEAD
--   thread_order        Int64                          sequence
--   change              LowCardinality(String)         text
--   item_id             String                         id
--   context_kind        LowCardinality(String)         text
--   title               String                         text
--   content_mode        LowCardinality(String)         text
--   content_ref         String                         id
--   content_digest      String                         text
--   mime_type           LowCardinality(String)         text
--   language            LowCardinality(String)         text
--   source_uris         Array(String)                  text
--   source_kinds        Array(LowCardinality(String))  text
--   source_digests      Array(String)                  text
--   token_estimate      Nullable(Int64)                tokens
--   estimator           LowCardinality(String)         text
--   byte_size           Nullable(Int64)                bytes
--   trust_level         LowCardinality(String)         text
--   sensitivity         LowCardinality(String)         text
--   redaction_state     LowCardinality(String)         text
--   redaction_reason    String                         text
--   policy_refs         Array(String)                  id
--   visibility          Array(LowCardinality(String))  text
--   priority            Nullable(Float64)              score
--   layer               LowCardinality(String)         text
--   role                LowCardinality(String)         text
--   reason              String                         text
--   metadata            String                         JSON
--   pinned              Bool                           bool
--   essential           Bool                           bool
--   binding_id          String                         id
--   offers              Array(String)                  id
--   offered_by          String                         id
--   source_ids          Array(String)                  id
--   source_selectors    Array(String)                  JSON
--   source_authorities  Array(String)                  text
--   reads               String                         text
--   parts               String                         JSON      the content's parts; '' where it is one text
CREATE OR REPLACE VIEW item_versions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, item_id, context_kind, title, content_mode,
    content_ref, content_digest, mime_type, language, source_uris, source_kinds, source_digests, token_estimate,
    estimator, byte_size, trust_level, sensitivity, redaction_state, redaction_reason, policy_refs, visibility,
    priority, layer, role, reason, metadata, pinned, essential,
    JSONExtractString(extra, 'binding_id') AS binding_id, JSONExtract(extra, 'offers', 'Array(String)') AS offers,
    JSONExtractString(extra, 'offered_by') AS offered_by,
    JSONExtract(extra, 'source_ids', 'Array(String)') AS source_ids,
    JSONExtract(extra, 'source_selectors', 'Array(String)') AS source_selectors,
    JSONExtract(extra, 'source_authorities', 'Array(String)') AS source_authorities, reads, parts
FROM items FINAL
WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
SETTINGS do_not_merge_across_partitions_select_final = 1;
