SELECT arraySort(groupArray(version))
FROM migrations FINAL
