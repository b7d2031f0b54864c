-- check: envelope-has-the-turn
-- expects: the envelope's row has the runtime, session, thread and turn of the sealed turn
-- rule: seed 001 ACTX-AR-ID-001
-- applies: run
SELECT
    count() AS looked_at,
    concat('other-runtime, ', {session_id:String}, ', Gespräch 1 "neu", turn-1-', {run:String}) AS expected,
    arrayStringConcat(groupArray(arrayStringConcat([runtime_id, session_id, thread_id, turn_id], ', ')), '; ') AS found
FROM scope_records
WHERE tenant = {tenant:String} AND record_kind = 'envelope' AND record_id = concat('context-', {run:String});

-- check: context-id-resolves
-- expects: the context id is enough to find one envelope and every fact of its context
-- rule: seed 001 ACTX-AR-ID-001
-- applies: run
SELECT
    count() AS looked_at,
    'context.envelope.created, context.injection.applied, context.item.added' AS expected,
    arrayStringConcat(arraySort(groupArray(toString(event_type))), ', ') AS found
FROM recorded_events
WHERE tenant = {tenant:String} AND context_id = concat('context-', {run:String});

-- check: envelopes-name-their-turn
-- expects: an envelope of a turn has session, thread, turn and a context id
-- rule: seed 001 ACTX-AR-ID-001
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat('envelope ', record_id, ' of turn "', turn_id, '", thread "', thread_id, '"'),
            record_id = '' OR thread_id = '' OR turn_id = ''),
        '; ') AS found
FROM scope_records
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND record_kind = 'envelope'
    AND scope_kind = 'turn';
