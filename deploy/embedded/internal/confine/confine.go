// Package confine starts a program that can open only the files that it needs.
//
// On Linux the kernel's Landlock does so, from version 2 of its interface on (Linux 5.19;
// version 1 forbids renames between folders, which ClickHouse needs). The program and all
// that it starts stay confined. Environments and memory of processes outside stay closed
// to them, too. [Available] reports whether the kernel has it; other systems have not.
//
// The rules are those of the thread that starts the program. That thread belongs to one
// goroutine and ends with it, so nothing else of this process is confined.
package confine

import "errors"

// ErrUnavailable means that this system cannot confine a program.
var ErrUnavailable = errors.New("not available here")

// Rules are the files and folders that a program may open, with all that is below a
// folder. A path that does not exist is left out.
type Rules struct {
	Read   []string // read and run
	Device []string // read and write existing files, and control devices
	Write  []string // everything: create, write, rename, remove
	Remove []string // list, and remove; not read
}
