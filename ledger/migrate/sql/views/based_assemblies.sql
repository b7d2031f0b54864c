-- One row an assembly that builds on another one, in the form of the view assemblies.
--
-- The lists begin with the blocks that the assembly keeps. If bases are missing, they lack blocks, and
-- the coverage is partial with the reason base_missing. Tellings that do not count are here too.
--
-- Needs: kept_blocks, placements.
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
CREATE OR REPLACE VIEW based_assemblies AS
WITH
    if(part > 1, 0, length(kept_names)) AS n,
    arrayConcat(arraySlice(kept_equalities, 1, n), arrayResize(a.block_equalities, length(a.blocks))) AS equalities,
    length(kept_names) != ifNull(a.keep, -1) AS lacking
SELECT
    a.incarnation AS incarnation, a.stream_seq AS stream_seq, a.recorded_at AS recorded_at, a.event_time AS event_time,
    a.event_id AS event_id, a.source AS source, a.event_type AS event_type, a.sequence AS sequence,
    a.tenant AS tenant, a.agent AS agent, a.resource_id AS resource_id, a.runtime_id AS runtime_id,
    a.session_id AS session_id, a.thread_id AS thread_id, a.turn_id AS turn_id, a.task_id AS task_id,
    a.run_id AS run_id, a.attempt_id AS attempt_id, a.step_id AS step_id, a.tool_call_id AS tool_call_id,
    a.action_id AS action_id, a.evidence_id AS evidence_id, a.context_id AS context_id,
    a.parent_run_id AS parent_run_id, a.root_run_id AS root_run_id,
    ifNull(a.sequence, toInt64(a.stream_seq)) AS thread_order, a.assembly_id AS assembly_id, a.call_id AS call_id,
    a.target AS target, a.item_refs AS item_refs, a.redaction_state AS redaction_state, a.budget_ref AS budget_ref,
    JSONExtractString(a.extra, 'wrapping_policy') AS wrapping_policy,
    JSONExtractString(a.extra, 'separator_policy') AS separator_policy,
    arrayConcat(arraySlice(kept_names, 1, n), a.blocks) AS blocks,
    arrayConcat(arraySlice(kept_items, 1, n), a.block_items) AS block_items,
    arrayConcat(
        arraySlice(kept_positions, 1, n),
        arrayMap(
            (place, given) -> ifNull(place, ifNull(a.keep, 0) + toInt64(given) - 1), a.block_positions,
            arrayEnumerate(a.blocks)))::Array(Nullable(Int64)) AS block_positions,
    arrayConcat(arraySlice(kept_layers, 1, n), a.block_layers)::Array(LowCardinality(String)) AS block_layers,
    arrayConcat(arraySlice(kept_roles, 1, n), a.block_roles)::Array(LowCardinality(String)) AS block_roles,
    arrayConcat(arraySlice(kept_wrappers, 1, n), a.block_wrappers)::Array(LowCardinality(String)) AS block_wrappers,
    arrayConcat(arraySlice(kept_tokens, 1, n), a.block_tokens) AS block_tokens,
    arrayConcat(arraySlice(kept_digests, 1, n), a.block_digests) AS block_digests,
    arrayConcat(
        arraySlice(kept_redactions, 1, n), a.block_redactions
    )::Array(LowCardinality(String)) AS block_redactions,
    a.metadata AS metadata, a.base_assembly_id AS base_assembly_id, a.keep AS keep,
    if(arrayExists(e -> e != '', equalities), equalities, []) AS block_equalities,
    multiIf(
        a.fidelity != '', toString(a.fidelity), startsWith(a.source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
    ) AS fidelity,
    if(lacking, 'partial', a.coverage)::LowCardinality(String) AS coverage,
    arrayDistinct(
        if(lacking, arrayPushBack(a.coverage_reasons, 'base_missing'), a.coverage_reasons)
    )::Array(LowCardinality(String)) AS coverage_reasons,
    part, greatest(JSONExtractInt(a.metadata, 'parts'), 1) AS parts
FROM
(
    SELECT
        *, greatest(JSONExtractInt(metadata, 'part'), 1) AS part,
        if(startsWith(source, 'urn:ctxledger:import:'), toString(source), '') AS teller
    FROM placements FINAL
    PREWHERE base_assembly_id != ''
    WHERE record_kind = 'assembly'
) AS a
LEFT JOIN kept_blocks AS k USING (tenant, session_id, attempt_id, teller, assembly_id);
