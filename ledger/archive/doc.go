// Package archive copies the tables of a ledger to files and back, by ClickHouse's own BACKUP and
// RESTORE.
//
// ClickHouse writes and reads the files in the folder that its setting backups.allowed_path names. A
// copy holds every table of the database, under the names ctxledger.<table>. A copy is exact up
// to the commits that the tables had before it began. Rows of later commits may be in some
// tables only.
package archive
