WITH revoked AS
(
    SELECT
        if(tenant = '', 'default', tenant) AS whose, subject AS redaction_id,
        groupArray((incarnation, stream_seq, recorded_at)) AS places
    FROM events -- repeated rows change nothing here
    WHERE event_type = 'context.redaction.revoked' AND subject = {redaction:String}
    GROUP BY whose, redaction_id
)
SELECT toString(r.tenant), r.session_id, r.incarnation, max(r.stream_seq) AS last
FROM
(
    SELECT tenant, session_id, incarnation, stream_seq, recorded_at, record_id
    FROM redactions FINAL
    WHERE record_id = {redaction:String}
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
) AS r
LEFT ANY JOIN revoked AS v ON v.whose = if(r.tenant = '', 'default', r.tenant) AND v.redaction_id = r.record_id
WHERE NOT arrayExists(
    p -> if(p.1 = r.incarnation, p.2 > r.stream_seq, (p.3, p.2) > (r.recorded_at, r.stream_seq)), v.places)
GROUP BY r.tenant, r.session_id, r.incarnation
ORDER BY r.tenant, r.session_id, last
SETTINGS do_not_merge_across_partitions_select_final = 1
