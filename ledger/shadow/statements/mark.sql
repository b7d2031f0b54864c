INSERT INTO {rebuilt:Identifier}.rebuild_state
SELECT
    {state:String}, CAST(({names:Array(String)}, {uuids:Array(UUID)}), 'Map(String, UUID)'), {migrations:UInt64},
    now64(6, 'UTC')
