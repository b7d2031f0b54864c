-- One row a billed model call with an estimate: its window by the estimate, and corrected by other bills.
--
-- Stored estimates are never rescaled. The correction uses the bill of a neighbour in the same thread, which
-- has what the log lacks, such as system prompt and tools. The bill of the call itself enters only the scale,
-- as one of all calls of the session. corrected_error says how far the result is off that bill. A neighbour is
-- the call before, or the next one for the first call of a thread.
--
-- scale is the weighted median, over the session, of what the bill grew by from one call of a thread to the
-- next for each token that the estimate grew by. Growth counts by its size.
--
-- Needs: model_calls, windows.
--
--   tenant             LowCardinality(String)  id
--   session_id         String                  id
--   thread_id          String                  id
--   turn_id            String                  id
--   attempt_id         String                  id
--   call_id            String                  id
--   recorded_at        DateTime64(9, 'UTC')    time
--   event_time         DateTime64(9, 'UTC')    time
--   thread_order       Int64                   sequence
--   model              LowCardinality(String)  text
--   estimator          String                  text
--   billed_tokens      Int64                   tokens  window that the provider billed
--   estimated_tokens   Int64                   tokens
--       sum of the layers with known tokens, or else the total
--   neighbour_call_id  String                  id      whose bill is used; '' for none
--   scale              Float64                 ratio   of the session; 1 if no estimate grew
--   offset_tokens      Float64                 tokens
--       of the session: median of billed − scale × estimated
--   corrected_tokens   Nullable(Float64)       tokens
--       bill of the neighbour + scale × (estimate − estimate of the neighbour); NULL without a neighbour
--   estimate_error     Float64                 ratio   (estimated − billed) / billed
--   corrected_error    Nullable(Float64)       ratio   (corrected − billed) / billed
CREATE OR REPLACE VIEW corrected_windows AS
WITH
estimates AS
(
    SELECT
        tenant, session_id, incarnation, stream_seq, any(estimator) AS estimator,
        any(if(
            arrayExists(t -> t IS NOT NULL, segment_tokens), arraySum(t -> ifNull(t, 0), segment_tokens), NULL)
        ) AS attributed
    FROM windows
    WHERE record_kind = 'usage' AND notEmpty(segments)
    GROUP BY tenant, session_id, incarnation, stream_seq
),
calls AS
(
    SELECT
        c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id,
        c.attempt_id AS attempt_id, c.call_id AS call_id, c.recorded_at AS recorded_at, c.event_time AS event_time,
        c.thread_order AS thread_order, c.stream_seq AS stream_seq, toString(c.model) AS model,
        toString(l.estimator) AS estimator, assumeNotNull(c.window_tokens) AS billed,
        assumeNotNull(coalesce(l.attributed, c.estimated_tokens)) AS estimated
    FROM model_calls AS c
    LEFT ANY JOIN estimates AS l
        ON l.tenant = c.tenant
            AND l.session_id = c.session_id
            AND l.incarnation = c.incarnation
            AND l.stream_seq = c.stream_seq
    WHERE NOT c.synthetic AND c.window_tokens > 0 AND coalesce(l.attributed, c.estimated_tokens) IS NOT NULL
),
paired AS
(
    SELECT
        *, row_number() OVER thread AS number, count() OVER thread AS others,
        if(number > 1, lagInFrame(billed) OVER thread, leadInFrame(billed) OVER thread) AS near_billed,
        if(number > 1, lagInFrame(estimated) OVER thread, leadInFrame(estimated) OVER thread) AS near_estimated,
        if(number > 1, lagInFrame(call_id) OVER thread, leadInFrame(call_id) OVER thread) AS near_call
    FROM calls
    WINDOW thread AS (
        PARTITION BY tenant, session_id, attempt_id, thread_id
        ORDER BY thread_order, stream_seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
scaled AS
(
    SELECT
        *,
        quantileExactWeighted(0.5)(
            if(number > 1 AND estimated != near_estimated, (billed - near_billed) / (estimated - near_estimated), 1),
            if(number > 1, toUInt64(abs(estimated - near_estimated)), 0)) OVER session AS grown,
        max(number > 1 AND estimated != near_estimated) OVER session AS compared
    FROM paired
    WINDOW session AS (PARTITION BY tenant, session_id)
),
corrected AS
(
    SELECT
        *, if(compared = 1, grown, 1.) AS scale,
        quantileExact(0.5)(billed - scale * estimated) OVER (PARTITION BY tenant, session_id) AS offset_tokens,
        if(others > 1, near_billed + scale * (estimated - near_estimated), NULL) AS corrected_tokens
    FROM scaled
)
SELECT
    tenant, session_id, thread_id, turn_id, attempt_id, call_id, recorded_at, event_time, thread_order, model,
    estimator, billed AS billed_tokens, estimated AS estimated_tokens,
    if(others > 1, near_call, '') AS neighbour_call_id, scale, offset_tokens, corrected_tokens,
    (estimated - billed) / billed AS estimate_error,
    (corrected_tokens - billed) / billed AS corrected_error
FROM corrected;
