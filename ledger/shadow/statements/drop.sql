DROP DATABASE IF EXISTS {rebuilt:Identifier} SYNC
