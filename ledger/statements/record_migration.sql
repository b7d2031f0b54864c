INSERT INTO migrations SELECT {version:UInt32}, {name:String}
