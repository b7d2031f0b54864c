SELECT tenant, erasure_id, any(erased_subject), min(recorded_at) AS first
FROM erased_records
GROUP BY tenant, erasure_id
ORDER BY first, erasure_id
