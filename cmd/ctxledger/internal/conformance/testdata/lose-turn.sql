-- A projector that drops an id: the item's row comes again without its turn.
INSERT INTO items
SELECT * REPLACE('' AS turn_id)
FROM items
WHERE tenant = {tenant:String} AND session_id = {session_id:String}
