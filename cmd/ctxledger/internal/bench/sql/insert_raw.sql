INSERT INTO raw (message)
