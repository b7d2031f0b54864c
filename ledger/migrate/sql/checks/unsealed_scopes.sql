-- Sessions that a source which seals its scopes left without an envelope, and that are
-- quiet for a day.
--
-- Needs: events, ledger_head, scopes.
--
--   tenant        LowCardinality(String)  id
--   source        LowCardinality(String)  id
--   session_id    String                  id
--   last_fact_at  DateTime64(9, 'UTC')    time
--   facts         UInt64                  count
--   problem       String                  text
CREATE OR REPLACE VIEW check_unsealed_scopes_of AS
WITH
sealed AS
(
    SELECT tenant, session_id, source
    FROM scopes
    WHERE record_kind = 'envelope' AND {of_tenant}
),
unsealed AS
(
    SELECT tenant, session_id, any(source) AS named
    FROM events
    WHERE session_id != '' AND {of_tenant}
    GROUP BY tenant, session_id, cityHash64(source)
    HAVING (tenant, session_id, named) NOT IN (sealed) AND (tenant, named) IN (SELECT tenant, source FROM sealed)
)
SELECT
    tenant, source, session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM events FINAL
WHERE (tenant, session_id, source) IN (unsealed)
GROUP BY tenant, source, session_id
HAVING last_fact_at < (SELECT recorded_at FROM ledger_head) - toIntervalDay(1)
SETTINGS do_not_merge_across_partitions_select_final = 1;
