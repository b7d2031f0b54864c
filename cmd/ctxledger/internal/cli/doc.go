// Package cli is what all commands share: the streams and global flags of an [App], the
// connections to the servers, exit codes, and answers of named queries as rows.
//
// Each group of commands is a package below this one, with a function that makes a
// command from an App.
package cli
