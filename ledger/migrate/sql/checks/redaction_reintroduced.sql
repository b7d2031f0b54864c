-- What shows, as not redacted, an item that was removed or blocked before, or holds a
-- withheld value.
--
-- An item's id is of its session: another session may have another item of that id.
--
-- Events that hold a withheld value are those that `ctxledger project --recheck` found.
--
-- What came after the operator revoked the redaction is no finding.
--
-- Needs: based_assemblies, events, items, placements, redactions, reintroductions.
--
--   tenant        LowCardinality(String)  id
--   session_id    String                  id
--   turn_id       String                  id
--   item_ref      String                  id  the item; '' for an event that holds a withheld value
--   redaction_id  String                  id
--   record_id     String                  id
--   problem       String                  text
CREATE OR REPLACE VIEW check_redaction_reintroduced_of AS
WITH
withheld AS
(
    SELECT
        tenant, session_id, target_ref, argMin(record_id, (recorded_at, stream_seq)) AS redaction_id,
        min((recorded_at, stream_seq)) AS since
    FROM redactions FINAL
    WHERE redaction_state IN ('removed', 'policy_blocked') AND {of_tenant}
    GROUP BY tenant, session_id, target_ref
),
concerned AS
(
    SELECT tenant, session_id
    FROM redactions
    WHERE redaction_state IN ('removed', 'policy_blocked') AND {of_tenant}
),
revoked AS
(
    SELECT
        if(tenant = '', 'default', tenant) AS whose, subject AS redaction_id, max((recorded_at, stream_seq)) AS until
    FROM events -- repeated rows change nothing here
    WHERE event_type = 'context.redaction.revoked' AND {of_tenant}
    GROUP BY whose, redaction_id
),
shown AS
(
    SELECT
        tenant, session_id, turn_id, assembly_id AS record_id, (recorded_at, stream_seq) AS at,
        arrayJoin(b.2) AS item_ref, 'an assembly holds the redacted item as not redacted' AS problem
    FROM
    (
        SELECT
            tenant, session_id, turn_id, assembly_id, recorded_at, stream_seq, redaction_state, block_redactions,
            block_items
        FROM placements FINAL
        WHERE (tenant, session_id) IN (concerned) AND record_kind = 'assembly' AND base_assembly_id = ''
        UNION ALL
        SELECT
            tenant, session_id, turn_id, assembly_id, recorded_at, stream_seq, redaction_state, block_redactions,
            block_items
        FROM based_assemblies
        WHERE (tenant, session_id) IN (concerned) AND {of_tenant}
    )
    ARRAY JOIN arrayZip(block_redactions, block_items) AS b
    WHERE b.1 IN ('', 'none')
        AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT
        tenant, session_id, turn_id, item_id, (recorded_at, stream_seq), item_id,
        'a later version of the item is not redacted'
    FROM items FINAL
    WHERE (tenant, session_id) IN (concerned) AND change != 'removed' AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT
        tenant, session_id, turn_id, record_id, (recorded_at, stream_seq), arrayJoin(item_refs),
        'an injection shows the redacted item as not redacted'
    FROM placements FINAL
    WHERE (tenant, session_id) IN (concerned)
        AND record_kind = 'injection'
        AND redaction_state IN ('', 'none')
        AND assembly_id = ''
)
SELECT
    s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.item_ref AS item_ref,
    w.redaction_id AS redaction_id, s.record_id AS record_id, s.problem AS problem
FROM shown AS s
INNER JOIN withheld AS w ON w.tenant = s.tenant AND w.session_id = s.session_id AND w.target_ref = s.item_ref
LEFT JOIN revoked AS v ON v.whose = if(w.tenant = '', 'default', w.tenant) AND v.redaction_id = w.redaction_id
WHERE s.at > w.since AND (v.redaction_id = '' OR s.at < v.until OR v.until < w.since)
UNION ALL
SELECT
    tenant, session_id, turn_id, '', redaction_id, record_id,
    concat(
        'the ', event_type, ' at sequence ', toString(stream_seq), ' of stream ', toString(incarnation),
        ' holds a value that ', policy_ref, ' withholds')
FROM reintroductions FINAL
WHERE {of_tenant}
    AND (if(tenant = '', 'default', tenant), redaction_id) NOT IN (SELECT whose, redaction_id FROM revoked)
    AND (incarnation, stream_seq) IN
    (
        SELECT incarnation, stream_seq
        FROM events
        WHERE {of_tenant} AND stream_seq IN (SELECT stream_seq FROM reintroductions)
    )
SETTINGS do_not_merge_across_partitions_select_final = 1;
