ALTER TABLE quarantine
UPDATE data = '', header = ''
WHERE recorded_at < {latest:DateTime64(9, 'UTC')}
    AND toUnixTimestamp64Nano(recorded_at) < if(
        has({tenants:Array(String)}, toString(tenant)),
        {befores:Array(UInt64)}[indexOf({tenants:Array(String)}, toString(tenant))],
        {before:UInt64})
    AND NOT arrayExists(
        (i, first) -> incarnation = i AND stream_seq >= first,
        {incarnations:Array(UUID)}, {firsts:Array(UInt64)})
    AND (data != '' OR header != '')
