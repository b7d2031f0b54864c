SELECT name, digest FROM definitions FINAL
