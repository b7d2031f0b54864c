INSERT INTO checkpoints (incarnation, tree_size, root_hash, note, recorded_at)
SELECT
    {incarnation:UUID}, {size:UInt64}, toFixedString(unhex({root:String}), 32), unhex({note:String}),
    {at:DateTime64(9, 'UTC')}
