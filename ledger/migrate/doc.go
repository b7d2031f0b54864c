// Package migrate brings a ClickHouse database to the tables and views that this version of the
// program wants. Every object is defined in one file of sql/, in its current form:
//
//	sql/tables/NAME.sql        CREATE TABLE IF NOT EXISTS: what a new database gets
//	sql/views/NAME.sql         CREATE OR REPLACE VIEW, with a header
//	sql/checks/NAME.sql        the view check_NAME_of(tenant), with a header; check_NAME is generated
//	sql/changes/NNNN_verb.sql  alters tables of databases that exist
//	sql/legacy/                the changes from before each object had its file
//	sql/retired.txt            views that an earlier version had
//	sql/columns.txt            what columns mean that many views have
//	sql/catalogue.txt          the order in which views are listed
//	sql/of_tenant.sql          what {of_tenant} stands for in a check
//	sql/of_all.sql             the statement that makes check_NAME
//
// # To change something
//
//   - A view or a check: edit its file. A new one is a new file. Delete a file and add
//     its name to retired.txt to drop a view.
//   - A new table: add its file.
//   - A column, index or setting of a table: edit the file of the table, and add the
//     next changes/NNNN_verb.sql that does the same to a table which exists. Each
//     statement must do no harm where it is run again (ADD COLUMN IF NOT EXISTS), also
//     to a table that has it from its own file. Add the file to testdata/released.txt
//     when it is released. It never changes again.
//
// In every file {database} is replaced by the database's name. A view that gives another its
// parameter has to name the database.
//
// The header of a view defines its row, gives reasons, and names the needed tables and views.
// Then it lists the columns: name, type, unit and, unless columns.txt has it, the meaning. HEAD
// is replaced by the first columns of every view of facts. [Views] returns the headers, and
// DESCRIBE TABLE shows them as comments.
//
// # What Up does
//
//  1. It reads which numbers are recorded in the table migrations, and the digests in
//     the table definitions. It refuses a number that this version does not know, and
//     one whose recorded SHA-256 is not that of its file. Nothing is done then. Numbers
//     of versions before the digests have none and are accepted.
//  2. It makes the tables that are missing.
//  3. It applies the changes whose number is not recorded, and records each with its
//     SHA-256. A new database needs none of them: its tables have their effect, and all
//     numbers are recorded at once.
//  4. It makes every view whose digest is not the recorded one or that is not there, in
//     the order of their needs, which are derived from the statements. The digest of a
//     view covers the tables and views that it reads, so that a view is made again when
//     one of these changed.
//  5. It drops retired views.
//  6. It sets the comments.
//
// Every step can be repeated. A migration that was killed is finished by the next; two at the
// same time give the same result.
//
// [Readers] makes the databases of tenants' readers from the same views.
//
// # Replicas
//
// A shard of several servers has the same tables with replicated engines; see [Replicated]. [UpReplicas]
// does the steps above on them. The tables share their rows, except for definitions, because each server
// has views of its own. The replicated tables were not run: the engine of the tests has no Keeper. It
// parses each of them and checks it up to that point.
//
// The package imports neither ledger nor the rebuild. The tests of package ledger can use it,
// since it needs only a connection.
package migrate
