package capture

import (
	"errors"
	"log/slog"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Config configures a [Recorder].
type Config struct {
	// Transport takes the events. Required: see [publish.NewOutboxTransport] and [publish.NewWith].
	Transport publish.Transport
	// Instance distinguishes the recorder from all others. With an outbox it is the outbox's
	// instance. Required.
	Instance string
	// Tenant is the owner of the sessions. Defaults to schema.DefaultTenant.
	Tenant string
	// Keys make the digests. A ring without keys makes none.
	Keys schema.KeyRing
	// Folder keeps the state of sessions. One recorder uses a folder at a time. "" keeps the
	// state in memory only.
	Folder string
	// Marks are the marks of the outbox, see [publish.Outbox]. They tell which sessions have
	// facts, also when the folder has lost their state.
	Marks map[string]int64
	// Guard withholds values. Nil withholds only the credentials of the requests.
	Guard *redact.Guard
	// Detector finds secrets that the guard does not know. Nil detects nothing.
	Detector producer.Detector
	// Counter counts tokens. Nil means a new counter.
	Counter *window.Counter
	// StoreText stores readable texts inline.
	StoreText bool
	// Texts stores the texts that do not fit into their facts, if StoreText is set. Nil leaves them out.
	Texts Texts
	// Titles makes the titles of tool calls, results and prompts. Nil leaves the words of a request out
	// of titles.
	Titles *title.Maker
	// Altered says that clients behave in another way because of the capture, as clients do
	// whose base URL is not their provider's.
	Altered bool
	// MaxWaiting is the largest size of the exchanges that wait in memory, in bytes. 0 means
	// 256 MiB.
	MaxWaiting int64
	// Log receives what no caller can return: exchanges that could not be recorded. Nil
	// discards it.
	Log *slog.Logger
}

const defaultMaxWaiting = 256 << 20

// Validate returns an error for invalid fields of c and changes nothing.
func (c Config) Validate() error {
	switch {
	case c.Transport == nil:
		return errors.New("capture: Transport is required")
	case c.Instance == "":
		return errors.New("capture: Instance is required; use the outbox's")
	case c.MaxWaiting < 0:
		return errors.New("capture: MaxWaiting must not be negative")
	}
	return nil
}

func (c Config) filled() Config {
	if c.Tenant == "" {
		c.Tenant = schema.DefaultTenant
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = defaultMaxWaiting
	}
	if c.Counter == nil {
		c.Counter = window.NewCounter(window.CounterConfig{})
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
