-- Copies every row of a typed table as a row of another session. In each column with
-- ids, eight digits for the session and the copy replace the mark of the corpus.
INSERT INTO {to:Identifier}.{table:Identifier} (
    incarnation, stream_seq, recorded_at, event_time,
    COLUMNS('(_id|_ref|^source|^metadata|^actor)$'),
    COLUMNS('^(seal_sources|source_item_refs|elided_refs|elided_tool_call_ids)$'),
    * EXCEPT '(_id|_ref|^source|^metadata|^actor)$'
        EXCEPT '^(incarnation|stream_seq|recorded_at|event_time)$'
        EXCEPT '^(seal_sources|source_item_refs|elided_refs|elided_tool_call_ids)$'
)
WITH
lower(leftPad(hex(bitXor(toUInt32(sipHash64(session_id)), toUInt32({copy:UInt64} * 2654435761))), 8, '0')) AS own
SELECT
    {incarnation:UUID}, stream_seq + {positions:UInt64},
    event_time + toIntervalNanosecond({later:Int64} + {stored:Int64}), event_time + toIntervalNanosecond({later:Int64}),
    COLUMNS('(_id|_ref|^source|^metadata|^actor)$') APPLY(x -> replaceAll(x, '5eedc0de', own)),
    COLUMNS(
        '^(seal_sources|source_item_refs|elided_refs|elided_tool_call_ids)$'
    ) APPLY(x -> arrayMap(y -> replaceAll(y, '5eedc0de', own), x)),
    * EXCEPT '(_id|_ref|^source|^metadata|^actor)$'
        EXCEPT '^(incarnation|stream_seq|recorded_at|event_time)$'
        EXCEPT '^(seal_sources|source_item_refs|elided_refs|elided_tool_call_ids)$'
FROM {from:Identifier}.{table:Identifier}
WHERE stream_seq <= {last:UInt64}
