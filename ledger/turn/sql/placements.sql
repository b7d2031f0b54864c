SELECT record_kind, call_id, ifNull(sequence, toInt64(stream_seq)) AS place, target, assembly_id, JSONExtractUInt(metadata, 'part') AS part, tool_call_id,
    blocks, block_items, block_positions, block_layers, block_roles, block_tokens, block_digests, block_redactions
FROM placements
PREWHERE tenant = {tenant:String} AND session_id = {session_id:String}
    AND (record_kind = 'assembly' AND has({assemblies:Array(String)}, assembly_id) OR record_kind = 'injection' AND has({chosen:Array(String)}, assembly_id))
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
ORDER BY place DESC
