RENAME TABLE {beside:Identifier}.{from:Identifier} TO {beside:Identifier}.{to:Identifier}
