-- One row an assembly: the ordered blocks made for one target.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- An assembly with a base is whole: its lists begin with the blocks that it keeps. If bases are
-- missing, its coverage is partial with the reason base_missing.
--
-- Needs: based_assemblies, placements, retold.
--
--   HEAD
--   thread_order      Int64                          sequence
--   assembly_id       String                         id
--   call_id           String                         id
--   target            LowCardinality(String)         text
--   item_refs         Array(String)                  id
--   redaction_state   LowCardinality(String)         text
--   budget_ref        String                         id
--   wrapping_policy   String                         id
--   separator_policy  String                         id
--   blocks            Array(String)                  text
--   block_items       Array(Array(String))           id
--   block_positions   Array(Nullable(Int64))         count
--   block_layers      Array(LowCardinality(String))  text
--   block_roles       Array(LowCardinality(String))  text
--   block_wrappers    Array(LowCardinality(String))  text
--   block_tokens      Array(Nullable(Int64))         tokens
--   block_digests     Array(String)                  text
--   block_redactions  Array(LowCardinality(String))  text
--   metadata          String                         JSON
--   base_assembly_id  String                         id
--   keep              Nullable(Int64)                count
--   block_equalities  Array(String)                  text
--   fidelity          String                         text
--   coverage          LowCardinality(String)         text
--   coverage_reasons  Array(LowCardinality(String))  text
--   part              Int64                          count
--   parts             Int64                          count
CREATE OR REPLACE VIEW assemblies AS
SELECT *
FROM
(
    SELECT
        incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
        ifNull(sequence, toInt64(stream_seq)) AS thread_order, assembly_id, call_id, target, item_refs, redaction_state,
        budget_ref, JSONExtractString(extra, 'wrapping_policy') AS wrapping_policy,
        JSONExtractString(extra, 'separator_policy') AS separator_policy,
        blocks, block_items, block_positions, block_layers, block_roles, block_wrappers, block_tokens,
        block_digests, block_redactions, metadata, base_assembly_id, keep, block_equalities,
        multiIf(
            fidelity != '', toString(fidelity), startsWith(source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
        ) AS fidelity,
        coverage, coverage_reasons,
        greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
    FROM placements FINAL
    WHERE record_kind = 'assembly' AND base_assembly_id = ''
    UNION ALL
    SELECT *
    FROM based_assemblies
)
WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
SETTINGS do_not_merge_across_partitions_select_final = 1;
