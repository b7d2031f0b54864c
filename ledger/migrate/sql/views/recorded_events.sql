-- One row an event.
--
-- Every view of facts begins with the columns up to root_run_id: the position and
-- identity of the event, and its correlation ids. HEAD stands for them in the headers of
-- the others.
--
-- FINAL counts a row once that was stored twice. A row never moves to another month, so
-- the setting keeps months apart. It is part of the view, because readers may not change
-- settings.
--
-- Needs: events.
--
--   incarnation          UUID                                 id
--   stream_seq           UInt64                               sequence
--   recorded_at          DateTime64(9, 'UTC')                 time
--   event_time           DateTime64(9, 'UTC')                 time
--   event_id             String                               id
--   source               LowCardinality(String)               id
--   event_type           LowCardinality(String)               text
--   sequence             Nullable(Int64)                      sequence
--   tenant               LowCardinality(String)               id
--   agent                LowCardinality(String)               text
--   resource_id          String                               id
--   runtime_id           LowCardinality(String)               id
--   session_id           String                               id
--   thread_id            String                               id
--   turn_id              String                               id
--   task_id              String                               id
--   run_id               String                               id
--   attempt_id           String                               id
--   step_id              String                               id
--   tool_call_id         String                               id
--   action_id            String                               id
--   evidence_id          String                               id
--   context_id           String                               id
--   parent_run_id        String                               id
--   root_run_id          String                               id
--   subject              String                               id
--   data                 String                               JSON
--   data_classification  LowCardinality(String)               text
--   digest               FixedString(32)                      bytes
--   traceparent          String                               text
--   tracestate           String                               text
--   correlation_id       String                               id
--   causation_id         String                               id
--   extensions           Map(LowCardinality(String), String)  map
CREATE OR REPLACE VIEW recorded_events AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    subject, data, data_classification, digest, traceparent, tracestate, correlation_id, causation_id, extensions
FROM events FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
