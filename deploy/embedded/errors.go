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
	// errNoPin: no checksum is known for this platform's library. Permanent;
	// name an engine by CTXLEDGER_LIBCHDB or put `clickhouse` on the PATH.
	errNoPin = errors.New("no pinned ClickHouse library for this platform")
	// errNoEngine: an engine that was named by hand cannot be used.
	errNoEngine = errors.New("the ClickHouse engine that was named cannot be used")
	// errNoNPM: the library must be fetched and npm is not installed.
	errNoNPM = errors.New("npm is not installed")
	// errNoNetwork: npm did not reach its registry. Transient.
	errNoNetwork = errors.New("the npm registry cannot be reached")
	// errNPM: npm answered, and not with the package.
	errNPM = errors.New("npm could not give the package")
	// errChecksum: what npm gave is not what was pinned. Nothing was unpacked.
	errChecksum = errors.New("the downloaded ClickHouse library has the wrong checksum")
	// errDiskFull: the cache folder has too little room. Nothing half is left.
	errDiskFull = errors.New("not enough disk space")
	// errFolderInUse: another process runs on the same data folder.
	errFolderInUse = errors.New("the data folder is in use")
	// errPortInUse: a port that was asked for is taken.
	errPortInUse = errors.New("the port is in use")
	// errEngineStart: the engine ended, or did not answer, before it was ready.
	errEngineStart = errors.New("ClickHouse did not start")
	// errNATSStart: the NATS server did not start.
	errNATSStart = errors.New("NATS did not start")
	// errNoMain: Main was not called first, so re-executing this binary would
	// run the whole program a second time.
	errNoMain = errors.New("embedded.Main was not called")
	// ErrNotRunning: no servers run on the folder.
	ErrNotRunning = errors.New("no servers run on this data folder")
)

// Unavailable reports whether err says that no engine can be had on this machine, which
// is no fault of the program.
func Unavailable(err error) bool {
	for _, absent := range []error{errNoPin, errNoNPM, errNoNetwork, errNPM, errDiskFull} {
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
