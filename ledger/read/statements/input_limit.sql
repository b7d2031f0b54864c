SELECT max_input_tokens, source
FROM limit_list
WHERE {model:String} LIKE replaceAll(
    replaceAll(replaceAll(replaceAll(model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')
ORDER BY built_in, length(replaceAll(model, '*', '')) DESC, model
LIMIT 1
