-- The newest fact that describes each thing, up to the end of the scope, or else the first one behind it.
SELECT incarnation, stream_seq
FROM
(
    SELECT
        incarnation, stream_seq,
        row_number() OVER (
            PARTITION BY object, subject
            ORDER BY late, if(late, age, -age), stream_seq DESC) AS place
    FROM
    (
        SELECT
            incarnation, stream_seq, subject, splitByChar('.', toString(event_type))[2] AS object,
            recorded_at > {until:DateTime64(9, 'UTC')} AS late, toUnixTimestamp64Nano(recorded_at) AS age
        FROM events FINAL
        WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
            AND session_id = {session:String}
            AND has({ids:Array(String)}, subject)
            AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
            AND event_type NOT IN (
                'context.item.removed', 'context.injection.removed', 'context.resource.accessed',
                'context.redaction.revoked')
            AND NOT (
                ({turn:String} = '' OR turn_id = {turn:String})
                AND ({run:String} = '' OR run_id = {run:String})
                AND ({task:String} = '' OR task_id = {task:String})
                AND ({attempt:String} = '' OR attempt_id = {attempt:String}))
    )
    WHERE has({things:Array(String)}, concat(object, ' ', subject))
)
WHERE place = 1
ORDER BY incarnation, stream_seq
SETTINGS do_not_merge_across_partitions_select_final = 1
