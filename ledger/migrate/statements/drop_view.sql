DROP VIEW IF EXISTS {view:Identifier}
