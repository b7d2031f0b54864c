SELECT DISTINCT record_id
FROM redactions FINAL
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_id != {redaction:String}
    AND hasAny(fingerprint_hmacs, {fingerprints:Array(String)})
ORDER BY record_id
SETTINGS do_not_merge_across_partitions_select_final = 1
