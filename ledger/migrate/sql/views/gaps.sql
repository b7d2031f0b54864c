-- One row a gap, as its last step left it.
--
-- A detail that a later step did not repeat is the last one that was given. Steps of one
-- producer are in the order of its sequence, others in the order of event_time.
--
-- Needs: gap_steps.
--
--   tenant               LowCardinality(String)  id
--   missing_id           String                  id
--   agent                String                  text
--   resource_id          String                  id
--   runtime_id           String                  id
--   session_id           String                  id
--   thread_id            String                  id
--   turn_id              String                  id
--   task_id              String                  id
--   run_id               String                  id
--   attempt_id           String                  id
--   step_id              String                  id
--   tool_call_id         String                  id
--   action_id            String                  id
--   evidence_id          String                  id
--   context_id           String                  id
--   parent_run_id        String                  id
--   root_run_id          String                  id
--   call_id              String                  id
--   status               String                  text  open, requested, waiting, resolved, declined, blocked or expired
--   is_open              Bool                    bool
--   question             String                  text
--   needed_for           String                  text
--   severity             String                  text
--   owner                String                  id
--   requested_action     String                  text
--   user_summary         String                  text
--   blocked_actions      Array(String)           text
--   candidate_item_refs  Array(String)           id
--   resolution_refs      Array(String)           id
--   detected_at          DateTime64(9, 'UTC')    time
--   changed_at           DateTime64(9, 'UTC')    time
--   steps                UInt64                  count
CREATE OR REPLACE VIEW gaps AS
SELECT
    tenant, missing_id, argMin(agent, at) AS agent, argMin(resource_id, at) AS resource_id,
    argMin(runtime_id, at) AS runtime_id, argMin(session_id, at) AS session_id, argMin(thread_id, at) AS thread_id,
    argMin(turn_id, at) AS turn_id, argMin(task_id, at) AS task_id, argMin(run_id, at) AS run_id,
    argMin(attempt_id, at) AS attempt_id, argMin(step_id, at) AS step_id, argMin(tool_call_id, at) AS tool_call_id,
    argMin(action_id, at) AS action_id, argMin(evidence_id, at) AS evidence_id, argMin(context_id, at) AS context_id,
    argMin(parent_run_id, at) AS parent_run_id, argMin(root_run_id, at) AS root_run_id, argMin(call_id, at) AS call_id,
    argMax(status, at) AS status, toBool(status NOT IN ('resolved', 'declined', 'expired')) AS is_open,
    argMaxIf(question, at, question != '') AS question, argMaxIf(needed_for, at, needed_for != '') AS needed_for,
    argMaxIf(severity, at, severity != '') AS severity, argMaxIf(requested_from, at, requested_from != '') AS owner,
    argMaxIf(requested_action, at, requested_action != '') AS requested_action,
    argMaxIf(user_summary, at, user_summary != '') AS user_summary,
    argMaxIf(blocked_actions, at, notEmpty(blocked_actions)) AS blocked_actions,
    argMaxIf(candidate_item_refs, at, notEmpty(candidate_item_refs)) AS candidate_item_refs,
    argMaxIf(resolution_refs, at, notEmpty(resolution_refs)) AS resolution_refs,
    min(event_time) AS detected_at, max(event_time) AS changed_at, count() AS steps
FROM
(
    SELECT *, (if(alone, ifNull(sequence, 0), toUnixTimestamp64Nano(event_time)), ifNull(sequence, 0), event_id) AS at
    FROM
    (
        SELECT
            *,
            min((source, session_id)) OVER gap = max((source, session_id)) OVER gap
                AND countIf(sequence IS NULL) OVER gap = 0 AS alone
        FROM gap_steps
        WINDOW gap AS (PARTITION BY tenant, missing_id)
    )
)
GROUP BY tenant, missing_id;
