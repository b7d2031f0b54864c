-- One row an entry of a thread's append-only item log.
--
-- Needs: log_items, retold.
--
--   HEAD
--   thread_order    Int64                          sequence
--   log_item_id     String                         id
--   log_id          String                         id
--   position        Nullable(Int64)                position
--   item_type       LowCardinality(String)         text
--   role            LowCardinality(String)         text
--   name            LowCardinality(String)         text
--   call_id         String                         id
--   status          LowCardinality(String)         text
--   item_ref        String                         id
--   parent_ref      String                         id
--   tokens          Nullable(Int64)                tokens
--   byte_size       Nullable(Int64)                bytes
--   content_digest  String                         text
--   metadata        String                         JSON
--   markers         Array(LowCardinality(String))  text
CREATE OR REPLACE VIEW log_entries AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, log_item_id, log_id, position, item_type, role, name,
    call_id, status, item_ref, parent_ref, tokens, byte_size, content_digest, metadata, markers
FROM log_items FINAL
WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
SETTINGS do_not_merge_across_partitions_select_final = 1;
