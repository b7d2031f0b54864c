// Package measure has the command bench and its subcommands. Package bench measures.
package measure
