SELECT record_kind, call_id, sequence, stream_seq, target, assembly_id, metadata, tool_call_id,
    blocks, block_items, block_positions, block_layers, block_roles, block_tokens, block_digests, block_redactions
FROM placements
PREWHERE tenant = {tenant:String} AND session_id = {session_id:String} AND record_kind IN ('assembly', 'injection') AND has({assemblies:Array(String)}, assembly_id)
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
