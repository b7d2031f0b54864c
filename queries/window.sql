-- What did the model see in a turn, in order?
-- Section: What did the model see?
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' is all
--   session_id  String  id    required  the session
--   turn_id     String  id    required  the turn
--   call_id     String  id    = ''      the model call; '' is the turn's last
--   as_of       String  time  = ''      the last call that had happened by then; '' is the last of all
-- Columns:
--   call_id          id      the model call
--   position         count   place in the window; 0 is first
--   layer            text    what fills this part of the window
--   role             text    role of the message
--   item_type        text    kind of log entry; empty for a block of an assembly
--   name             text    function that was called
--   title            text    title of the item
--   tokens           tokens  as the model saw it; NULL if not known
--   tokens_full      tokens  before any elision; NULL if not known
--   elided           bool    whether a stub stands for it
--   elided_by        id      the elision pass
--   redaction_state  text    how much is withheld
--   item_refs        id      the items
--   tool_call_id     id      the tool call
--   origin           text    assembly (recorded by the runtime) or log (projected from the item log)
--   injected         bool    whether the assembly was made visible to its target; NULL for log
--   assembly_id      id      the assembly
--   target           text    the assembly's target
SELECT call_id, position, layer, role, item_type, name, title, tokens, tokens_full, elided, elided_by, redaction_state, item_refs,
    tool_call_id, origin, injected, assembly_id, target
FROM turn_window
WHERE ({tenant:String} = '' OR tenant = {tenant:String})
    AND session_id = {session_id:String}
    AND turn_id = {turn_id:String}
    AND call_id = if({call_id:String} != '', {call_id:String},
    (
        SELECT argMax(call_id, thread_order)
        FROM
        (
            SELECT tenant, session_id, turn_id, call_id, thread_order, event_time FROM model_calls WHERE NOT synthetic
            UNION ALL
            SELECT tenant, session_id, turn_id, call_id, thread_order, event_time FROM assemblies
        )
        WHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND turn_id = {turn_id:String}
            AND ({as_of:String} = '' OR event_time <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    ))
ORDER BY target, position
