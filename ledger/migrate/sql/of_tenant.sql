-- What {of_tenant} stands for in the checks: rows of the tenant asked for, or of all where that
-- is ''. Rows from before version 4 of the rules have no tenant and count for "default".
({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
