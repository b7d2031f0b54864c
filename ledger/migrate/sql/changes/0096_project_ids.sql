-- The list of sessions and the search read the newest time of each id instead of all events. The settings
-- come first: without them a table with a projection refuses deletions. Parts without the projection are
-- read whole until the last statement, which does not wait, has reached them.
ALTER TABLE events
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild';
ALTER TABLE events
    ADD PROJECTION IF NOT EXISTS ids
    (
        SELECT
            tenant, session_id, source, agent, thread_id, turn_id, run_id, task_id, attempt_id,
            max(event_time), max(recorded_at)
        GROUP BY tenant, session_id, source, agent, thread_id, turn_id, run_id, task_id, attempt_id
    );
ALTER TABLE events
    MATERIALIZE PROJECTION ids
    SETTINGS mutations_sync = 0;
