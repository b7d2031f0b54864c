-- Which checks find violations?
-- Section: Is the ledger sound?
--
-- Each check is a view that lists the violations of one rule. A view with _of in its name takes a tenant
-- and checks only this tenant. This query uses these views.
--
-- Parameters:
--   tenant  String  id  = ''  only this tenant; '' means all tenants
-- Columns:
--   check_name          text   the view with the details
--   violations          count  number of rows in the view; 0 means no violation
--   sessions            count  sessions with violations
--   example_session_id  id     first of these sessions by id
--   problem             text   problem that one of the rows describes
SELECT
    check_name, countIf(said != '') AS violations, uniqExactIf(session_id, said != '') AS sessions,
    minIf(session_id, said != '' AND session_id != '') AS example_session_id, minIf(said, said != '') AS problem
FROM
(
    SELECT 'check_conservation' AS check_name, session_id, problem AS said
    FROM check_conservation_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_injected_without_assembly', session_id, problem
    FROM check_injected_without_assembly_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_redaction_reintroduced', session_id, problem
    FROM check_redaction_reintroduced_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_lost_runtime_ids', session_id, problem
    FROM check_lost_runtime_ids_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_sequence_gaps', session_id, problem
    FROM check_sequence_gaps_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_unsealed_scopes', session_id, problem
    FROM check_unsealed_scopes_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_reasoning_reinjected', session_id, problem
    FROM check_reasoning_reinjected_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_compaction_dropped_open_gap', session_id, problem
    FROM check_compaction_dropped_open_gap_of(tenant = {tenant:String})
    UNION ALL
    SELECT 'check_references_elsewhere', session_id, problem
    FROM check_references_elsewhere_of(tenant = {tenant:String})
    UNION ALL
    SELECT
        arrayJoin(
            [
                'check_conservation', 'check_injected_without_assembly', 'check_redaction_reintroduced',
                'check_lost_runtime_ids', 'check_sequence_gaps', 'check_unsealed_scopes', 'check_reasoning_reinjected',
                'check_compaction_dropped_open_gap', 'check_references_elsewhere']),
        '', ''
)
GROUP BY check_name
ORDER BY violations DESC, check_name
