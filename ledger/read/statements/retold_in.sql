-- The sources of imported facts of the session, and whether another source tells their log better.
SELECT source, (source IN (
    SELECT source
    FROM retold
    WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
        AND session_id = {session:String})) AS told_better
FROM scopes
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id = {session:String}
    AND startsWith(source, 'urn:ctxledger:import:')
GROUP BY source
ORDER BY source
