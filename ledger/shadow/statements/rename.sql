RENAME TABLE {rebuilt:Identifier}.{from:Identifier} TO {rebuilt:Identifier}.{to:Identifier}
