WITH revoked AS
(
    SELECT
        if(tenant = '', 'default', tenant) AS whose, subject AS redaction_id,
        groupArray((incarnation, stream_seq, recorded_at)) AS places
    FROM events -- repeated rows change nothing here
    WHERE event_type = 'context.redaction.revoked'
        AND (incarnation != {incarnation:UUID} OR stream_seq <= {through:UInt64})
    GROUP BY whose, redaction_id
)
SELECT
    tenant, f.1 AS key_id, f.2 AS length, f.3 AS prefix_hash, f.4 AS hmac,
    argMin(record_id, (recorded_at, stream_seq)), argMin(policy_refs[1], (recorded_at, stream_seq)),
    min(recorded_at)
FROM
(
    SELECT *
    FROM redactions FINAL
    WHERE incarnation != {incarnation:UUID} OR stream_seq <= {through:UInt64}
) AS r
LEFT ANY JOIN revoked AS v ON v.whose = if(r.tenant = '', 'default', r.tenant) AND v.redaction_id = r.record_id
ARRAY JOIN arrayZip(fingerprint_keys, fingerprint_lengths, fingerprint_prefixes, fingerprint_hmacs) AS f
WHERE NOT arrayExists(
    p -> if(p.1 = r.incarnation, p.2 > r.stream_seq, (p.3, p.2) > (r.recorded_at, r.stream_seq)), v.places)
    AND NOT arrayExists(
        (t, id) -> t = if(r.tenant = '', 'default', r.tenant) AND id = r.record_id,
        {tenants:Array(String)}, {ids:Array(String)})
GROUP BY tenant, key_id, length, prefix_hash, hmac
ORDER BY min((recorded_at, stream_seq)), hmac
SETTINGS do_not_merge_across_partitions_select_final = 1
