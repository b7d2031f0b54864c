-- seed_copy.sql for the table events. The identity is computed for the copied event. A
-- hash that differs for each event replaces the digest. Sources and ids are shorter
-- than 128 bytes, so each length takes one byte.
INSERT INTO {to:Identifier}.events (
    incarnation, stream_seq, recorded_at, event_time, identity, digest,
    COLUMNS('(_id|^source|^subject|^partition_key|^data)$'),
    * EXCEPT '(_id|^source|^subject|^partition_key|^data)$'
        EXCEPT '^(incarnation|stream_seq|recorded_at|event_time|identity|digest)$'
)
WITH
lower(leftPad(hex(bitXor(toUInt32(sipHash64(session_id)), toUInt32({copy:UInt64} * 2654435761))), 8, '0')) AS own,
replaceAll(source, '5eedc0de', own) AS from_source,
replaceAll(event_id, '5eedc0de', own) AS id
SELECT
    {incarnation:UUID}, stream_seq + {positions:UInt64},
    event_time + toIntervalNanosecond({later:Int64} + {stored:Int64}), event_time + toIntervalNanosecond({later:Int64}),
    reinterpretAsUInt64(
        reverse(substring(SHA256(concat(char(length(from_source)), from_source, char(length(id)), id)), 1, 8))),
    SHA256(concat(digest, own)),
    COLUMNS('(_id|^source|^subject|^partition_key|^data)$') APPLY(x -> replaceAll(x, '5eedc0de', own)),
    * EXCEPT '(_id|^source|^subject|^partition_key|^data)$'
        EXCEPT '^(incarnation|stream_seq|recorded_at|event_time|identity|digest)$'
FROM {from:Identifier}.events
WHERE stream_seq <= {last:UInt64}
