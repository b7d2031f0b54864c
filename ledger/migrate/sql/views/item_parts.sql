-- One row a part of a version of a context item, for items whose content has parts.
--
-- Needs: items, retold.
--
--   HEAD
--   thread_order    Int64                   sequence
--   change          LowCardinality(String)  text
--   item_id         String                  id
--   part            Int64                   count     place in the item, 1 is first
--   part_kind       String                  text
--   name            String                  text      such as the name of the file
--   mime_type       String                  text
--   ref             String                  id
--   detail          String                  text
--   byte_size       Nullable(Int64)         bytes
--   content_digest  String                  text
--   tokens          Nullable(Int64)         tokens    of the part; NULL if not known
--   estimator       String                  text      what counted the part's tokens
CREATE OR REPLACE VIEW item_parts AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, item_id, toInt64(number) AS part,
    JSONExtractString(one, 'part_kind') AS part_kind, JSONExtractString(one, 'name') AS name,
    JSONExtractString(one, 'mime_type') AS mime_type,
    coalesce(
        nullIf(JSONExtractString(one, 'ref', 'id'), ''), nullIf(JSONExtractString(one, 'ref', 'uri'), ''),
        JSONExtractString(one, 'ref')) AS ref,
    JSONExtractString(one, 'detail') AS detail, JSONExtract(one, 'byte_size', 'Nullable(Int64)') AS byte_size,
    JSONExtractString(one, 'digest') AS content_digest, JSONExtract(one, 'tokens', 'Nullable(Int64)') AS tokens,
    JSONExtractString(one, 'estimator') AS estimator
FROM
(
    SELECT *
    FROM items FINAL
    WHERE parts != '' AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
)
ARRAY JOIN JSONExtractArrayRaw(parts) AS one, arrayEnumerate(JSONExtractArrayRaw(parts)) AS number
SETTINGS do_not_merge_across_partitions_select_final = 1;
