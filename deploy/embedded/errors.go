package embedded

import (
	"errors"
	"fmt"
)

// Every error of this package wraps one of these. Each message is a whole
// sentence that says what to do.
var (
	// ErrConfig: the Config is wrong. Permanent.
	ErrConfig = errors.New("embedded servers: bad configuration")
	// ErrNoPin: no checksum is known for this platform's library. Permanent;
	// name an engine by CTXLEDGER_LIBCHDB or put `clickhouse` on the PATH.
	ErrNoPin = errors.New("no pinned ClickHouse library for this platform")
	// ErrNoEngine: an engine that was named by hand cannot be used.
	ErrNoEngine = errors.New("the ClickHouse engine that was named cannot be used")
	// ErrNoNPM: the library must be fetched and npm is not installed.
	ErrNoNPM = errors.New("npm is not installed")
	// ErrNoNetwork: npm did not reach its registry. Transient.
	ErrNoNetwork = errors.New("the npm registry cannot be reached")
	// ErrNPM: npm answered, and not with the package.
	ErrNPM = errors.New("npm could not give the package")
	// ErrChecksum: what npm gave is not what was pinned. Nothing was unpacked.
	ErrChecksum = errors.New("the downloaded ClickHouse library has the wrong checksum")
	// ErrDiskFull: the cache folder has too little room. Nothing half is left.
	ErrDiskFull = errors.New("not enough disk space")
	// ErrFolderInUse: another process runs on the same data folder.
	ErrFolderInUse = errors.New("the data folder is in use")
	// ErrPortInUse: a port that was asked for is taken.
	ErrPortInUse = errors.New("the port is in use")
	// ErrEngineStart: the engine ended, or did not answer, before it was ready.
	ErrEngineStart = errors.New("ClickHouse did not start")
	// ErrNATSStart: the NATS server did not start.
	ErrNATSStart = errors.New("NATS did not start")
	// ErrNoMain: Main was not called first, so re-executing this binary would
	// run the whole program a second time.
	ErrNoMain = errors.New("embedded.Main was not called")
	// ErrNotRunning: no servers run on the folder.
	ErrNotRunning = errors.New("no servers run on this data folder")
)

// Unavailable reports whether err says that no engine can be had on this machine, which
// is no fault of the program.
func Unavailable(err error) bool {
	for _, absent := range []error{ErrNoPin, ErrNoNPM, ErrNoNetwork, ErrNPM, ErrDiskFull} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}

// failure is one sentence for a person, and the sentinel for a program.
type failure struct {
	kind     error
	sentence string
	cause    error // nil where the sentence says it all
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
