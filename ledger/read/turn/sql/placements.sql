SELECT
    record_kind, attempt_id, call_id, sequence, stream_seq, target, assembly_id, metadata, tool_call_id,
    blocks, block_items, block_positions, block_layers, block_roles, block_tokens, block_digests, block_redactions,
    injection_kind, persona_to, item_refs, thread_id, base_assembly_id, keep, source,
    fidelity, coverage, coverage_reasons
FROM placements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind IN ('assembly', 'injection')
    AND (
        has({assemblies:Array(String)}, assembly_id)
        OR record_kind = 'injection' AND persona_to != '' AND thread_id = {thread_id:String})
    AND NOT has({retold:Array(String)}, source)
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
