// Package embedded runs a real NATS JetStream server and a real ClickHouse on
// one machine with nothing installed. It is what `ctxledger up`, `ctxledger
// demo` and the tests of this repository stand on.
//
// # Who owns which process
//
//	┌─ your process ─────────────────────────────┐      ┌─ child: your binary again ────────┐
//	│ Servers                                    │      │ Main()                            │
//	│  ├─ NATS server (in process)               │      │  └─ libchdb through purego, or a  │
//	│  │    loopback TCP, JetStream in DIR/nats  │      │     `clickhouse` program as is    │
//	│  └─ supervisor ─── pipe, write end ────────┼─────▶│ fd 3: end of file means "stop"    │
//	│        └────────── pty, master end ────────┼─────▶│ fd 0: a terminal nobody types on  │
//	│  flock on DIR/lock                         │      │ flock on DIR/clickhouse/status    │
//	└────────────────────────────────────────────┘      └───────────────────────────────────┘
//	        clients ── native protocol and HTTP, loopback only ──────▶ child
//
// # What each crash does
//
//   - The child dies: the supervisor starts it again on the same ports and the
//     same folder, with a jittered back-off. Clients see refused connections for
//     well under a second. What ClickHouse acknowledged is still there.
//   - Your process is killed with -9: the kernel closes its ends of the pipe and
//     of the terminal, the engine's blocking statement ends, and the child stops
//     in order by itself. A Start on the same folder waits until it is gone.
//     JetStream recovers from its files.
//   - Both are killed with -9: the next Start recovers both folders.
//   - Ctrl-C at the terminal reaches only your process: the child is in a session
//     of its own, so that Close decides the order.
//
// A kill loses no acknowledged write of either server. Power loss is another
// matter: set Config.SyncAlways.
//
// # How ClickHouse is configured
//
// By the files that package deploy has for production, beside those of
// templates/, which say what is this machine's alone: folders, memory, and the
// user of the engine's own session.
//
// # What SQL can reach
//
// SQL has functions that read files. On Linux the kernel's Landlock confines the engine's
// process to DIR/clickhouse and the parts of the system that it needs: the passwords and
// keys of DIR and all other files of the user stay closed (package internal/confine). The
// environment of the process holds no variable of yours. Where Landlock is missing, the
// log and `ctxledger doctor` report it.
//
// # Where the engine comes from
//
// In this order: the library that CTXLEDGER_LIBCHDB names; a `clickhouse`
// program of version 26.6 or newer on the PATH, or the one that
// CTXLEDGER_CLICKHOUSE names ("off" there means: look for none); the library in
// the cache; `npm pack` of the pinned package into the cache (see [Fetch]). The
// program gets the arguments of `clickhouse local`. It could not be tried where
// this was written, because no such program was to be had there.
//
// Only Linux on x86-64 with glibc has a pin. The package has three siblings
// (Linux arm64, macOS arm64, macOS x64), but the registry that was reached when
// this was written did not carry them, so their checksums could not be taken,
// and code that nobody checked is not run: there, the error names the two other
// ways. They use the same code paths, which compile and have not run.
//
// Loading the library takes the system's dynamic linker, so that the program is
// linked to glibc without cgo, too. The build tag static leaves the library out
// and makes a program that runs in an empty container.
//
// # Why a terminal
//
// `clickhouse local` calls std::terminate when a connection handler throws and
// its standard input is no terminal (ClickHouse issue 115666, fixed after the
// pinned build): one malformed byte on a port takes the engine down. With a
// pseudo-terminal and --interactive the same build logs the error and serves on.
// Where no pseudo-terminal is to be had, the engine still runs, such a byte
// still aborts it, and the supervisor brings it back.
package embedded
