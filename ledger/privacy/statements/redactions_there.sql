SELECT count() > 0
FROM redactions
