// Package ui reads and writes what people and programs exchange with the commands: texts
// and tables of a terminal's width, results of queries as table, JSON or CSV, lines of
// input up to a limit, and a bar that shows the progress of long work.
package ui
