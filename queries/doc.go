// Package queries is the catalogue of named queries: the stable face of the
// ledger's tables for people who have a question.
//
// One question is one file, <name>.sql, with one statement that pastes into any
// ClickHouse client. Its head comment is the documentation, and the only source
// of the catalogue:
//
//	-- Which tools were called, and how often?
//	-- Section: What was used?
//	--
//	-- More sentences, if any.
//	--
//	-- Parameters:
//	--   tenant  String  id    = ''                only this tenant; '' is all
//	--   days    UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
//	-- Columns:
//	--   name    text          the tool
//	--   calls   count         distinct calls of it
//	SELECT …
//
// Fields are separated by two spaces or more; a line that is indented further goes on
// with the meaning. A parameter has a name, a
// ClickHouse type, a unit, a default or the word required, an optional range
// [least..most] or choice {a|b}, and a meaning; a column has a name, a unit and
// a meaning. Tests hold the head comments against the statements: a parameter
// {name:Type} that only one of the two knows is an error, and the columns are
// compared with those that a real server returns.
//
// The statements read the documented views of the ledger, not its tables, so that
// they are exact and survive a change of the tables. Two kinds are exceptions, and
// say so in their head comments. For those about one turn, which a person waits for,
// the server takes longer to plan nested views, with every column of theirs, than to
// read what they need: they read tables with PREWHERE on the sort key. Of those that
// are asked about everything, some would take too long or too much memory at tens of
// millions of events: they read tables where merging repeats makes no difference to
// them, group by hashes and not by texts, and first find the few rows that they have
// to look at closely. Both read with FINAL or in a way that a row which is stored
// twice counts once, and tests hold their answers against that. PREWHERE runs before
// FINAL drops repeats, which is right here: repeats are equal in every column.
package queries
