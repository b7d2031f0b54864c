-- How many rows the table of events has of a session, without those of a range that is not committed: other
-- tables can still lack rows of such a range. Rows of the newest incarnation are tested: to find the last
-- commits of several reads all commits.
WITH
(
    SELECT argMax(incarnation, recorded_at)
    FROM events
    WHERE session_id = {session:String}
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
) AS newest,
(
    SELECT last_seq
    FROM commits
    WHERE incarnation = newest
    ORDER BY incarnation DESC, first_seq DESC, last_seq DESC
    LIMIT 1
) AS last
SELECT countIf(incarnation != newest OR stream_seq <= ifNull(last, 0)) AS n
FROM events
WHERE session_id = {session:String}
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
