-- Turns in the order of a hash. Each turn has another turn of the session, a call of
-- the turn, and the session's last item before the turn's end.
WITH
drawn AS
(
    SELECT tenant, session_id, turn_id, max(call_id) AS call_id
    FROM calls
    WHERE session_id != '' AND turn_id != ''
    GROUP BY tenant, session_id, turn_id
    ORDER BY cityHash64(tenant, session_id, turn_id)
    LIMIT {samples:UInt32}
)
SELECT d.tenant, d.session_id, d.turn_id, i.other_turn_id, d.call_id, i.item_id
FROM drawn AS d
INNER JOIN
(
    SELECT tenant, session_id, max(turn_id) AS other_turn_id, min(item_id) AS item_id
    FROM items
    WHERE (tenant, session_id) IN (SELECT tenant, session_id FROM drawn) AND turn_id != ''
    GROUP BY tenant, session_id
) AS i
    ON i.tenant = d.tenant AND i.session_id = d.session_id
ORDER BY d.tenant, d.session_id, d.turn_id
