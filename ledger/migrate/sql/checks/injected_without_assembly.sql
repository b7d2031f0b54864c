-- Injections that name an assembly that is not recorded.
--
-- A row that is stored twice makes no difference to whether an assembly is there.
--
-- Needs: injections, placements.
--
--   tenant        LowCardinality(String)  id
--   session_id    String                  id
--   turn_id       String                  id
--   attempt_id    String                  id
--   call_id       String                  id
--   injection_id  String                  id
--   assembly_id   String                  id
--   problem       String                  text
CREATE OR REPLACE VIEW check_injected_without_assembly_of AS
WITH
unassembled AS
(
    SELECT tenant, session_id, attempt_id, assembly_id
    FROM placements
    WHERE record_kind IN ('assembly', 'injection') AND assembly_id != '' AND {of_tenant}
    GROUP BY tenant, session_id, attempt_id, assembly_id
    HAVING countIf(record_kind = 'assembly') = 0
)
SELECT
    tenant, session_id, turn_id, attempt_id, call_id, injection_id, assembly_id,
    'the injection names an assembly that is not recorded' AS problem
FROM injections
WHERE change = 'applied' AND (tenant, session_id, attempt_id, assembly_id) IN (unassembled);
