-- One row a candidate that was left out.
--
-- Needs: turn_candidates.
--
--   HEAD
--   thread_order  Int64                                 sequence
--   selection_id  String                                id
--   surface_id    String                                id
--   call_id       String                                id
--   policy        LowCardinality(String)                text
--   query         String                                text
--   intent        String                                text
--   model         LowCardinality(String)                text
--   part          Nullable(Int64)                       count
--       part of the selection that the candidate stands in; NULL for a whole
--   item_ref      String                                id
--   outcome       LowCardinality(String)                text
--   rank          Nullable(Int64)                       count
--   score         Nullable(Float64)                     score
--   tokens        Nullable(Int64)                       tokens
--   reason        LowCardinality(String)                text
--   note          String                                text
--   signals       Map(LowCardinality(String), Float64)  score
CREATE OR REPLACE VIEW omissions AS
SELECT *
FROM turn_candidates
WHERE outcome = 'omitted';
