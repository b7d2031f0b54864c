-- What did each rung of the pressure ladder do?
SELECT
    step, step_name, outcome, count() AS times, sum(tokens_before - tokens_after) AS tokens_freed,
    sum(length(item_refs)) AS items
FROM pressure_steps
WHERE session_id = 'demo-session'
GROUP BY step, step_name, outcome
ORDER BY step, outcome
