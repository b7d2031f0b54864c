package embedded

import (
	"errors"
	"fmt"
)

// Every error of this package wraps one of these. Each message is a complete sentence with the
// next step.
var (
	// ErrConfig: the Config is wrong. Permanent.
	ErrConfig = errors.New("embedded servers: bad configuration")
	// errNoPin: no checksum is known for this platform's library. Permanent. Name an engine with
	// CTXLEDGER_LIBCHDB, or put `clickhouse` on the PATH.
	errNoPin = errors.New("no pinned ClickHouse library for this platform")
	// errNoEngine: the engine that a variable names cannot be used.
	errNoEngine = errors.New("the configured ClickHouse engine cannot be used")
	// errNoNPM: the library must be fetched and npm is not installed.
	errNoNPM = errors.New("npm is not installed")
	// errNoNetwork: npm did not reach its registry. Transient.
	errNoNetwork = errors.New("the npm registry cannot be reached")
	// errNPM: npm answered without the package.
	errNPM = errors.New("npm did not deliver the package")
	// errChecksum: the downloaded file differs from the pinned file. The file was not unpacked.
	errChecksum = errors.New("the downloaded ClickHouse library has the wrong checksum")
	// errDiskFull: the cache folder has too little space. No partial file is left.
	errDiskFull = errors.New("not enough disk space")
	// errFolderInUse: another process uses the same data folder.
	errFolderInUse = errors.New("the data folder is in use")
	// errPortInUse: the configured port is in use.
	errPortInUse = errors.New("the port is in use")
	// errEngineStart: the engine ended, or did not answer, before it was ready.
	errEngineStart = errors.New("ClickHouse did not start")
	// errEngineKilled: a signal ended the engine before it was ready. Another start may succeed.
	errEngineKilled = errors.New("ClickHouse was killed while it started")
	// errNATSStart: the NATS server did not start.
	errNATSStart = errors.New("NATS did not start")
	// errNoMain: Main was not called first. Re-executing this binary would run the whole program
	// twice.
	errNoMain = errors.New("embedded.Main was not called")
	// ErrNotRunning: no servers use the folder.
	ErrNotRunning = errors.New("no servers use this data folder")
)

// Unavailable reports whether err means that no engine is available on this machine. These errors
// are not errors of the program.
func Unavailable(err error) bool {
	for _, absent := range []error{errNoPin, errNoNPM, errNoNetwork, errNPM, errDiskFull} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}

// failure is an error with one sentence for people and a sentinel for programs.
type failure struct {
	kind     error
	sentence string
	cause    error // nil where the sentence is complete
}

func (f *failure) Error() string { return f.sentence }

func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

func fail(kind, cause error, format string, args ...any) error {
	return &failure{kind: kind, sentence: fmt.Sprintf(format, args...), cause: cause}
}
