-- Which standing checks find something?
-- Section: Is the ledger sound?
--
-- Each check is a view of its own that lists what breaks the rule. With days, of their rows count those about a session that was active in these: a session is looked at whole, whenever its facts were recorded. It reads the table events to find the sessions that were active: a row that is stored twice makes no difference there.
--
-- Parameters:
--   tenant  String  id    = ''             only this tenant; '' is all
--   days    UInt32  days  = 0  [0..36500]  only sessions with a fact that was recorded in the last days before the newest fact; 0 is all
-- Columns:
--   check_name          text   the view that holds the details
--   violations          count  its rows; 0 is as it must be
--   sessions            count  sessions concerned
--   example_session_id  id     one of them
--   problem             text   what one of them says
WITH
active AS
(
    SELECT tenant, session_id
    FROM events
    WHERE ({tenant:String} = '' OR tenant = {tenant:String})
        AND {days:UInt32} > 0
        AND recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32})
)
SELECT check_name, countIf(counts) AS violations, uniqExactIf(session_id, counts) AS sessions, anyIf(session_id, counts) AS example_session_id, anyIf(said, counts) AS problem
FROM
(
    SELECT *, said != '' AND ({days:UInt32} = 0 OR (tenant, session_id) IN (active)) AS counts
    FROM
    (
        SELECT 'check_conservation' AS check_name, tenant, session_id, problem AS said FROM check_conservation
        UNION ALL SELECT 'check_injected_without_assembly', tenant, session_id, problem FROM check_injected_without_assembly
        UNION ALL SELECT 'check_redaction_reintroduced', tenant, session_id, problem FROM check_redaction_reintroduced
        UNION ALL SELECT 'check_lost_runtime_ids', tenant, session_id, problem FROM check_lost_runtime_ids
        UNION ALL SELECT 'check_sequence_gaps', tenant, session_id, problem FROM check_sequence_gaps
        UNION ALL SELECT 'check_unsealed_scopes', tenant, session_id, problem FROM check_unsealed_scopes
        UNION ALL SELECT 'check_reasoning_reinjected', tenant, session_id, problem FROM check_reasoning_reinjected
        UNION ALL SELECT 'check_compaction_dropped_open_gap', tenant, session_id, problem FROM check_compaction_dropped_open_gap
        UNION ALL SELECT arrayJoin(['check_conservation', 'check_injected_without_assembly', 'check_redaction_reintroduced', 'check_lost_runtime_ids', 'check_sequence_gaps', 'check_unsealed_scopes', 'check_reasoning_reinjected', 'check_compaction_dropped_open_gap']), {tenant:String}, '', ''
    )
    WHERE ({tenant:String} = '' OR tenant = {tenant:String})
) AS found
GROUP BY check_name
ORDER BY violations DESC, check_name
