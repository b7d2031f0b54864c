-- Are all facts of a session there, as far as its sources say how many there are?
-- Section: Is the ledger sound?
-- First: source, facts, first_sequence, last_sequence, missing, sealed
--
-- A source numbers its facts. A missing number is a fact that is neither recorded nor quarantined nor erased
-- nor declared as dropped. A seal says the last number, so that later facts cannot be missing without a sign.
--
-- Parameters:
--   tenant      String  id  = ''      only this tenant; '' means all tenants
--   session_id  String  id  required  the session
-- Columns:
--   tenant          id        the tenant
--   source          id        the source of the facts
--   facts           count     recorded facts of the session
--   first_sequence  sequence  first number of the source in the session; NULL if it does not number its facts
--   last_sequence   sequence  last number
--   missing         count     numbers without a recorded, quarantined, erased or dropped fact
--   sealed          text      yes, no, or partly if facts follow the seal
--   sealed_last     sequence  last number that a seal of the session names; NULL without a seal
WITH
seals AS
(
    SELECT tenant, one.1 AS source, max(one.2) AS sealed_last
    FROM scope_records
    ARRAY JOIN arrayZip(seal_sources, seal_last) AS one
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND record_kind = 'envelope'
    GROUP BY tenant, source
),
gaps AS
(
    SELECT tenant, source, sum(missing) AS missing
    FROM check_sequence_gaps_of(tenant = {tenant:String})
    WHERE session_id = {session_id:String}
    GROUP BY tenant, source
),
told AS
(
    SELECT
        if(tenant = '', 'default', toString(tenant)) AS whose, toString(source) AS source, count() AS facts,
        min(sequence) AS first_sequence, max(sequence) AS last_sequence
    FROM recorded_events
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
    GROUP BY whose, source
)
SELECT
    t.whose AS tenant, t.source AS source, t.facts AS facts, t.first_sequence AS first_sequence,
    t.last_sequence AS last_sequence, toUInt64(g.missing) AS missing,
    multiIf(s.sealed_last IS NULL, 'no', s.sealed_last < t.last_sequence, 'partly', 'yes') AS sealed,
    s.sealed_last AS sealed_last
FROM told AS t
LEFT JOIN gaps AS g ON g.tenant = t.whose AND g.source = t.source
LEFT JOIN seals AS s ON if(toString(s.tenant) = '', 'default', toString(s.tenant)) = t.whose AND s.source = t.source
ORDER BY t.facts DESC, tenant, source
