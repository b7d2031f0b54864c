-- What names a resource of another run, or an offer of another session. A run may use the
-- resources of its parent and of its root. What nobody has recorded is not here.
--
-- Needs: items, placements, scopes.
--
--   tenant      LowCardinality(String)  id
--   session_id  String                  id
--   run_id      String                  id
--   turn_id     String                  id
--   record_id   String                  id    the item or the injection that names it
--   reference   String                  id    what it names
--   problem     String                  text
CREATE OR REPLACE VIEW check_references_elsewhere_of AS
WITH
named AS
(
    SELECT
        tenant, session_id, run_id, parent_run_id, root_run_id, turn_id, item_id AS record_id,
        JSONExtractString(extra, 'binding_id') AS binding_id
    FROM items
    WHERE extra != '' AND binding_id != '' AND {of_tenant}
    UNION ALL
    SELECT
        tenant, session_id, run_id, parent_run_id, root_run_id, turn_id, record_id,
        JSONExtractString(extra, 'binding_id')
    FROM placements
    WHERE extra != '' AND JSONExtractString(extra, 'binding_id') != '' AND {of_tenant}
),
resources AS
(
    SELECT tenant, record_id AS binding_id, groupUniqArray((session_id, run_id)) AS owners
    FROM scopes
    WHERE record_kind = 'resource_resolved' AND {of_tenant}
    GROUP BY tenant, binding_id
),
accepted AS
(
    SELECT
        tenant, session_id, run_id, turn_id, item_id, JSONExtractString(extra, 'offered_by') AS offered_by
    FROM items
    WHERE extra != '' AND offered_by != '' AND {of_tenant}
),
offers AS
(
    SELECT tenant, item_id AS offered_by, groupUniqArray(session_id) AS sessions
    FROM items
    WHERE (tenant, item_id) IN (SELECT tenant, offered_by FROM accepted) AND {of_tenant}
    GROUP BY tenant, item_id
)
SELECT DISTINCT
    n.tenant AS tenant, n.session_id AS session_id, n.run_id AS run_id, n.turn_id AS turn_id,
    n.record_id AS record_id, n.binding_id AS reference, 'it names a resource of another run' AS problem
FROM named AS n
INNER JOIN resources AS r ON r.tenant = n.tenant AND r.binding_id = n.binding_id
WHERE NOT hasAny(
    r.owners, [(n.session_id, n.run_id), (n.session_id, n.parent_run_id), (n.session_id, n.root_run_id)])
UNION ALL
SELECT DISTINCT
    i.tenant, i.session_id, i.run_id, i.turn_id, i.item_id, i.offered_by,
    'it names an offer of another session'
FROM accepted AS i
INNER JOIN offers AS o ON o.tenant = i.tenant AND o.offered_by = i.offered_by
WHERE NOT has(o.sessions, i.session_id);
