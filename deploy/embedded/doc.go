// Package embedded runs a NATS JetStream server and a ClickHouse server on one machine without an
// installation. `ctxledger up`, `ctxledger demo` and the tests of this repository use it.
//
// # Processes
//
//	┌─ your process ─────────────────────────────┐      ┌─ child: your binary again ────────┐
//	│ Servers                                    │      │ Main()                            │
//	│  ├─ NATS server (in process)               │      │  └─ libchdb through purego, or a  │
//	│  │    loopback TCP, JetStream in DIR/nats  │      │     `clickhouse` program          │
//	│  └─ supervisor ─── pipe, write end ────────┼─────▶│ fd 3: end of file means "stop"    │
//	│  flock on DIR/lock                         │      │ flock on DIR/clickhouse/status    │
//	└────────────────────────────────────────────┘      └───────────────────────────────────┘
//	        clients ── native protocol and HTTP, loopback only ──────▶ child
//
// # Crashes
//
//   - The child dies. The supervisor starts it again with the same ports and folder, after a
//     jittered pause. Clients get refused connections for less than a second. No write that
//     ClickHouse acknowledged is lost.
//   - Your process is killed with -9. The kernel closes its ends of the pipe and of the terminal.
//     The engine's blocking statement ends, and the child stops in order. A Start on the same
//     folder waits for the end of the child. JetStream recovers from its files.
//   - Both are killed with -9. The next Start recovers both folders.
//   - Ctrl-C at the terminal reaches only your process, because the child is in a separate
//     session. Close therefore decides the order.
//
// A kill loses no acknowledged write of either server. For writes that survive power loss, set
// Config.SyncAlways.
//
// # Ports
//
// Every server listens on loopback. A port of a Config is a number, 0 for any free port, or
// [KeptPort] for the port that the folder had last. NATS and the HTTP server of [Listen] bind
// their port in this process. The engine binds its ports about 0.3 s after Start has found them
// free. If another program takes a port in between, the engine starts again on the next port.
//
// # Configuration of ClickHouse
//
// ClickHouse uses the production files of package deploy and the files of templates/. The
// templates hold the values of one machine: folders, memory, and the user of the engine's
// session.
//
// # Files that SQL can read
//
// SQL has functions that read files. On Linux the kernel's Landlock confines the engine's process
// to DIR/clickhouse and the required parts of the system (package internal/confine). SQL cannot
// read the passwords and keys of DIR or other files of the user. The environment of the process
// holds none of your variables. If Landlock is missing, the log and `ctxledger doctor` report it.
//
// # Source of the engine
//
// The engine is the first of these that is available:
//
//   - the library in CTXLEDGER_LIBCHDB;
//   - the `clickhouse` program in CTXLEDGER_CLICKHOUSE, or one of version 26.6 or newer on the
//     PATH; the value "off" skips this step;
//   - the library in the cache;
//   - the pinned package, which `npm pack` fetches into the cache (see [Fetch]).
//
// A `clickhouse` program gets the arguments of `clickhouse local`. This way has no test, because
// no such program was available.
//
// Only Linux on x86-64 with glibc has a pin. The package also exists for Linux arm64, macOS arm64
// and macOS x64, but their checksums are not known. Unchecked code is never run. On these
// platforms, set CTXLEDGER_LIBCHDB or CTXLEDGER_CLICKHOUSE. Both use the same code, which
// compiles there but is not tested there.
//
// Loading the library needs the system's dynamic linker. The program is therefore linked to
// glibc, also without cgo. The build tag static leaves the library out and makes a program for an
// empty container.
//
// # Pseudo-terminal
//
// `clickhouse local` calls std::terminate when a connection handler throws and standard input is
// not a terminal (ClickHouse issue 115666, fixed after the pinned build). One malformed byte on a
// port then ends the engine. With a pseudo-terminal and --interactive, the same build logs the
// error and continues. Without a pseudo-terminal, the engine still runs. A malformed byte then
// ends the engine, and the supervisor restarts it.
package embedded
