SELECT
    count() AS events,
    countIf(position(data, {secret:String}) > 0 OR position(subject, {secret:String}) > 0) AS events_with_the_secret
FROM recorded_events
