"""Checks contract.py against the vectors for all languages."""

import json
import pathlib
import sys

from contract import bucket, message_id, subject

vectors = json.loads((pathlib.Path(__file__).parent.parent / "vectors.json").read_text(encoding="utf-8"))
checks = [(bucket(v["session"]), v["bucket"]) for v in vectors["buckets"]]
checks += [(message_id(v["source"], v["id"]), v["message_id"]) for v in vectors["message_ids"]]
checks += [(subject(v["tenant"], v["runtime"], v["session"], v["event_type"]), v["subject"]) for v in vectors["subjects"]]
failed = [f"{got}, want {want}" for got, want in checks if got != want]
print("\n".join(failed) or f"{len(checks)} vectors")
sys.exit(bool(failed))
