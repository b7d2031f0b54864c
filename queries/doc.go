// Package queries is the catalogue of named queries. The queries are a stable interface to the
// tables of the ledger, for people with a question.
//
// Each question is one file, <name>.sql, with one statement. The statement works in every
// ClickHouse client. The head comment of the file is the documentation and the only source of the
// catalogue:
//
//	-- Which tools were called, and how often?
//	-- Section: What was used?
//	-- First: name, calls
//	--
//	-- More sentences, if any.
//	--
//	-- Parameters:
//	--   tenant  String  id    = ''                only this tenant; '' means all tenants
//	--   days    UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
//	-- Columns:
//	--   name    text          the tool
//	--   calls   count         distinct calls of the tool
//	SELECT …
//
// Two or more spaces separate the fields. A line with a deeper indentation continues the meaning.
// A parameter has a name, a ClickHouse type, a unit, a default or the word required, and a
// meaning. An optional range is [least..most], an optional choice is {a|b}. A column has a name,
// a unit and a meaning. First names the columns that a table too wide for its terminal shows
// before the others. Tests compare the head comments with the statements. A parameter
// {name:Type} that is missing in one of the two is an error. The columns are compared with the
// columns of a real server's result.
//
// The statements read the documented views of the ledger, not its tables. They are therefore
// exact and survive a change of the tables. Two kinds of queries read tables instead. Their head
// comments mention this.
//
// The first kind is about a single turn, and a person waits for the answer. The server plans
// nested views with all their columns. This takes longer than reading the needed columns. These
// queries read tables with conditions on the sort key, in PREWHERE or WHERE. Conditions that use a
// scalar of the statement are in WHERE, because the server resolves a scalar in PREWHERE again at
// each place.
//
// The second kind reads the whole ledger and would take too much time or memory with the views.
// These queries read tables if unmerged repeats do not change the result. They group by hashes
// instead of texts, and they first find the few rows that need a closer look.
//
// Both kinds read with FINAL, or count a row that is stored twice only once. Tests check their
// answers for this. PREWHERE runs before FINAL drops repeats. The answer is correct, because
// repeats are equal in every column.
//
// Where a subquery finds the sessions that matter, its condition has no effect if session_id is given. The server
// then does not plan the subquery.
package queries
