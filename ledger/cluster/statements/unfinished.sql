-- Tables with mutations that are not done, and tables that lack what other replicas have.
SELECT table, why
FROM
(
    SELECT table, concat('mutation ', command, if(latest_fail_reason = '', '', concat(': ', latest_fail_reason))) AS why
    FROM system.mutations
    WHERE database = currentDatabase() AND NOT is_done
    UNION ALL
    SELECT
        table,
        multiIf(
            is_session_expired, 'it has lost its connection to Keeper',
            is_readonly, concat('it takes no writes ', zookeeper_exception),
            concat('it lags behind other replicas ', last_queue_update_exception)) AS why
    FROM system.replicas
    WHERE database = currentDatabase()
        AND (is_session_expired OR is_readonly OR log_pointer < log_max_index OR inserts_in_queue > 0)
)
ORDER BY table, why
LIMIT 1
