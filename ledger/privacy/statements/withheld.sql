SELECT
    tenant, f.1 AS key_id, f.2 AS length, f.3 AS prefix_hash, f.4 AS hmac,
    argMin(record_id, (recorded_at, stream_seq)), argMin(policy_refs[1], (recorded_at, stream_seq))
FROM redactions FINAL
ARRAY JOIN arrayZip(fingerprint_keys, fingerprint_lengths, fingerprint_prefixes, fingerprint_hmacs) AS f
WHERE incarnation != {incarnation:UUID} OR stream_seq <= {through:UInt64}
GROUP BY tenant, key_id, length, prefix_hash, hmac
ORDER BY min((recorded_at, stream_seq)), hmac
SETTINGS do_not_merge_across_partitions_select_final = 1
