SELECT groupUniqArrayArray(fingerprint_hmacs)
FROM redactions
WHERE record_id = {redaction:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
