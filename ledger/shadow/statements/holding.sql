SELECT groupUniqArray(toString(_table))
FROM merge(currentDatabase(), {tables:String})
WHERE incarnation IN {incarnations:Array(UUID)}
