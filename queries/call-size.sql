-- How large was the window of a call, and how large could it be?
-- Section: What did the model see?
--
-- Parameters:
--   tenant      String  id  = ''      only this tenant; '' is all
--   session_id  String  id  required  the session
--   call_id     String  id  required  the model call
-- Columns:
--   model            text    the model
--   max_tokens       tokens  of the model's window; NULL if not known
--   reserved_tokens  tokens  of it that are kept free for the answer; NULL if not known
--   billed_tokens    tokens  the window that the provider billed; NULL if not known
SELECT max(model) AS model, max(max_tokens) AS max_tokens, max(reserved_tokens) AS reserved_tokens, max(window_tokens) AS billed_tokens
FROM
(
    SELECT tenant, session_id, call_id, model, max_tokens, reserved_tokens, NULL AS window_tokens
    FROM budgets
    UNION ALL
    SELECT tenant, session_id, call_id, model, NULL, NULL, window_tokens
    FROM model_calls
)
WHERE ({tenant:String} = '' OR tenant = {tenant:String})
    AND session_id = {session_id:String}
    AND call_id = {call_id:String}
