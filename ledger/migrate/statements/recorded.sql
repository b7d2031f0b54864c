SELECT version FROM migrations FINAL ORDER BY version
