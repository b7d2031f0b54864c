-- One row a model call and layer of its window, as the usage record estimates it.
--
-- Needs: model_calls, windows.
--
--   HEAD
--   thread_order     Int64                   sequence
--   call_id          String                  id
--   model            LowCardinality(String)  text
--   estimator        LowCardinality(String)  text
--   layer_order      Int64                   count
--   layer            String                  text
--   tokens           Nullable(Int64)         tokens
--   items            Nullable(Int64)         count
--   placement        String                  text
--   changed          Nullable(Bool)          bool
--   reported_tokens  Nullable(Int64)         tokens
--   reported_by      String                  text
CREATE OR REPLACE VIEW layer_usage AS
SELECT
    w.incarnation AS incarnation, w.stream_seq AS stream_seq, w.recorded_at AS recorded_at, w.event_time AS event_time,
    w.event_id AS event_id, w.source AS source, w.event_type AS event_type, w.sequence AS sequence,
    w.tenant AS tenant, w.agent AS agent, w.resource_id AS resource_id, w.runtime_id AS runtime_id,
    w.session_id AS session_id, w.thread_id AS thread_id, w.turn_id AS turn_id, w.task_id AS task_id,
    w.run_id AS run_id, w.attempt_id AS attempt_id, w.step_id AS step_id, w.tool_call_id AS tool_call_id,
    w.action_id AS action_id, w.evidence_id AS evidence_id, w.context_id AS context_id,
    w.parent_run_id AS parent_run_id, w.root_run_id AS root_run_id,
    ifNull(w.sequence, toInt64(w.stream_seq)) AS thread_order, w.call_id AS call_id, w.model AS model,
    w.estimator AS estimator, part.1 - 1 AS layer_order, part.2 AS layer, part.3 AS tokens, part.4 AS items,
    part.5 AS placement, part.6 AS changed,
    part.7 AS reported_tokens, part.8 AS reported_by
FROM (SELECT * FROM windows FINAL WHERE record_kind = 'usage') AS w
INNER JOIN (SELECT tenant, session_id, incarnation, stream_seq FROM model_calls) AS c
    ON w.tenant = c.tenant
        AND w.session_id = c.session_id
        AND w.incarnation = c.incarnation
        AND w.stream_seq = c.stream_seq
ARRAY JOIN arrayZip(
    arrayEnumerate(w.segments), w.segment_layers, w.segment_tokens, w.segment_items, w.segment_placements,
    w.segment_changed, arrayResize(w.segment_reported, length(w.segments), NULL),
    arrayResize(w.segment_reported_by, length(w.segments), '')) AS part
SETTINGS do_not_merge_across_partitions_select_final = 1;
