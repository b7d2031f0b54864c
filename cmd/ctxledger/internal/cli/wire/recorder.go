package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/secrets"
	"github.com/ctxledger/ctxledger/schema"
)

// recordFlags are what both commands have.
type recordFlags struct {
	tenant    string
	storeText bool
	titles    cli.Titles
}

func (r *recordFlags) register(f *pflag.FlagSet) {
	f.StringVar(&r.tenant, "tenant", schema.DefaultTenant, "whose sessions these are")
	f.BoolVar(&r.storeText, "store-text", false, "store the text of the items, too")
	r.titles.Flag(f)
}

func (r *recordFlags) check() error {
	if r.tenant == "" {
		return cli.UsageError("--tenant is empty: leave it away for %q", schema.DefaultTenant)
	}
	return nil
}

// recording is a recorder with its outbox and its connection.
type recording struct {
	*capture.Recorder
	app       *cli.App
	box       *outbox.Outbox
	nc        *nats.Conn
	publisher *publish.Publisher
	texts     *lateTexts
	folder    string
}

// commandSlots are the folders of the commands run and capture. Each that runs has one, the first
// that is free, so that a session that is resumed later meets its state again. The recorder of
// `ctxledger up` has a folder of its own: it runs for long, and would take the first from them.
func commandSlots() []string {
	const atOnce = 32
	var list []string
	for slot := range atOnce {
		list = append(list, strconv.Itoa(slot))
	}
	return list
}

// openOutbox opens the first outbox of the slots that no other recorder uses.
func openOutbox(data string, slots []string) (box *outbox.Outbox, folder string, err error) {
	for _, slot := range slots {
		folder = filepath.Join(data, "capture", slot)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, "", fmt.Errorf("make the folder of the capture: %w", err)
		}
		box, err = outbox.Open(filepath.Join(folder, "outbox"), outbox.DefaultOptions())
		if !errors.Is(err, outbox.ErrInUse) {
			return box, folder, err
		}
	}
	return nil, "", fmt.Errorf("%d captures run on %s already: end one, or give another --data", len(slots), data)
}

// open connects to the stream at address, which may be away, and opens a recorder in the first free
// slot.
func open(ctx context.Context, a *cli.App, address string, flags recordFlags, altered bool, slots []string) (_ *recording, err error) {
	r := &recording{app: a}
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	ring, err := keyfile.Open(a.Flags.Data, flags.tenant)
	if err != nil {
		return nil, err
	}
	rules, err := secrets.New()
	if err != nil {
		return nil, err
	}
	titles, err := a.TitleMaker(flags.titles)
	if err != nil {
		return nil, err
	}
	if r.box, r.folder, err = openOutbox(a.Flags.Data, slots); err != nil {
		return nil, err
	}
	if r.nc, err = a.DialNATS(address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second)); err != nil {
		return nil, err
	}
	js, err := jetstream.New(r.nc)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	const linger = 100 * time.Millisecond
	r.publisher = publish.NewWith(js, publish.Options{
		Linger: linger, MaxQueued: publish.DefaultMaxQueued, WaitForRoom: true, ReplaceRefused: true, Log: a.Log(),
	})
	r.publisher.KeepIn(r.box)
	marks, err := r.box.Marks()
	if err != nil {
		return nil, err
	}
	r.texts = &lateTexts{nc: r.nc, js: js, tenant: flags.tenant, ring: ring}
	r.Recorder, err = capture.Open(ctx, capture.Config{
		Transport: publish.NewOutboxTransport(r.publisher, 0), Instance: r.box.Instance(), Tenant: flags.tenant, Keys: ring,
		Folder: filepath.Join(r.folder, "sessions"), Marks: marks, Detector: rules, StoreText: flags.storeText, Texts: r.texts,
		Titles: titles, Altered: altered, Log: a.Log(),
	})
	return r, err
}

// Settings of the collector while bytes pass: it runs less often, and the memory stays small.
const collectAt, memoryLimit = 400, 256 << 20

// threads is the number of threads for each processor. With more threads than processors the
// system wakes a thread that has bytes to pass before one that computes.
const threads = 4

// tune keeps the collector and the recorder from delaying the bytes that pass. Settings of the
// environment win.
func tune() {
	addThreads()
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(collectAt)
		debug.SetMemoryLimit(memoryLimit)
	}
}

// addThreads sets the number of threads, unless the environment does.
func addThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(threads * runtime.NumCPU())
	}
}

// Waits for the end of a recording.
const (
	recordPatience = 20 * time.Second // for the exchanges in memory
	streamPatience = 5 * time.Second  // for the facts in the outbox
)

// end records what waits, and says what could not be recorded and what waits in the outbox.
func (r *recording) end(ctx context.Context) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	defer cancel()
	if err := r.Close(within); err != nil {
		fmt.Fprintf(r.app.Err, "ctxledger: exchanges of the last moments were not recorded: %v\n", err)
	}
	if r.nc.IsConnected() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamPatience)
		if r.publisher.Flush(within) == nil {
			_ = r.texts.Settle(within) // a text that is not settled is removed only if a sweep began at the same moment
		}
		cancel()
	}
	counts := r.Counts()
	for _, c := range [...]struct {
		n    int64
		what string
	}{
		{counts.Unread, "exchanges had no window that could be read"},
		{counts.Dropped, "exchanges were dropped, which the ledger shows as lost facts"},
		{counts.Refused, "facts were refused; --verbose shows why"},
	} {
		if c.n > 0 {
			fmt.Fprintf(r.app.Err, "ctxledger: %d %s\n", c.n, c.what)
		}
	}
	if _, facts := r.box.Held(); facts > 0 {
		fmt.Fprintf(r.app.Err, "ctxledger: %d facts wait in %s; the same command sends them when it runs on this data folder again\n", facts, r.folder)
	}
	r.release()
}

func (r *recording) release() {
	if r.nc != nil {
		r.nc.Close()
	}
	if r.box != nil {
		_ = r.box.Close()
	}
}
