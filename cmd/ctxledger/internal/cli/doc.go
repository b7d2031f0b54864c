// Package cli has the common parts of the commands. These are the streams and global flags of
// an [App], connections to the servers, exit codes, ids, and answers of named queries.
//
// Each group of commands is a package below this one, with a function that makes a
// command from an App.
package cli
