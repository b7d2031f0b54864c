SELECT whose, max(minute) + toIntervalMinute(1)
FROM
(
    SELECT
        whose, minute, sum(bytes) OVER (PARTITION BY whose) AS total,
        sum(bytes) OVER (PARTITION BY whose ORDER BY minute DESC) AS since,
        if(
            has({tenants:Array(String)}, whose),
            {limits:Array(UInt64)}[indexOf({tenants:Array(String)}, whose)],
            {limit:UInt64}) AS most
    FROM
    (
        SELECT
            if(tenant = '', 'default', toString(tenant)) AS whose, toStartOfMinute(recorded_at) AS minute,
            sum(length(data)) AS bytes
        FROM events
        WHERE data != '' AND NOT has({kept:Array(String)}, toString(event_type))
        GROUP BY whose, minute
    )
)
WHERE most > 0 AND total > most AND since > most - intDiv(most, 8)
GROUP BY whose
