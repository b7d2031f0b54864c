INSERT INTO {rebuilt:Identifier}.commits
