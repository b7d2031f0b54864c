SELECT mapFromArrays(groupArray(name), groupArray(digest))
FROM definitions FINAL
