-- What fills the window?
SELECT layer, count() AS calls, round(avg(tokens)) AS average_tokens, max(tokens) AS largest
FROM layer_usage
WHERE session_id = 'demo-session'
GROUP BY layer
ORDER BY average_tokens DESC
