-- Few assemblies build on another one. Parts without any are not read to find them.
ALTER TABLE placements
    ADD INDEX IF NOT EXISTS by_base base_assembly_id TYPE minmax GRANULARITY 1;
