RENAME TABLE {rebuilt:Identifier}.{from:Identifier} TO {beside:Identifier}.{to:Identifier}
