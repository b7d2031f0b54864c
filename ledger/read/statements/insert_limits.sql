INSERT INTO limits (model, max_input_tokens, max_output_tokens, source, version, removed)
