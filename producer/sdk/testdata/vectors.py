# Computes the shared vectors: ids, digests, fingerprints and masked texts.
import json
import sys

from ctxledger import Guard, Key, bucket, message_id

given = json.load(sys.stdin)
k, guard = Key.parse(given["key"]), Guard()
for i, value in enumerate(given["withheld"]):
    guard.withhold(value, policy_ref=f"p{i}", reason="secret")
print(json.dumps({
    "buckets": [bucket(s) for s in given["sessions"]], "ids": [message_id(*e) for e in given["events"]], "digests": [k.digest(v) for v in given["values"]],
    "fingerprints": [k.fingerprint(v) for v in given["values"]], "disguises": [k.fingerprints(v) for v in given["values"]],
    "masked": [guard.mask(text)[0] for text in given["texts"]],
}))
