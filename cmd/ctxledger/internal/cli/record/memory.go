package record

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/importer/known"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// memory is what imports into this stream remember, see package known.
type memory struct {
	js      jetstream.JetStream
	tenant  string
	folder  known.Folder
	bucket  jetstream.KeyValue // nil for an account that may only publish
	ends    []known.Place      // of the streams; empty for such an account
	again   bool               // import everything again
	sources map[string]addedSource
	stored  map[string]known.Source // what this process has stored; nil unless it follows its logs
	logs    []keptLog

	published int // facts
	damaged   int // values of the bucket that cannot be read
}

// addedSource is a source of the bucket with its partition.
type addedSource struct {
	known.Source
	partition int
}

// keptLog is an imported log whose facts may still be in the publisher's queue.
type keptLog struct {
	path, kind string
	entry      known.Entry
	countsKind string
	counts     *known.Counts
}

// openMemory opens the memory of imports. An account that may only publish has the folder alone,
// which then is one of the server's address.
func openMemory(ctx context.Context, a *cli.App, js jetstream.JetStream, tenant string, blind, again bool) (*memory, error) {
	m := &memory{js: js, tenant: tenant, again: again, sources: make(map[string]addedSource)}
	place := "of " + cli.Redacted(js.Conn().ConnectedUrl())
	if !blind {
		var err error
		if m.ends, err = readEnds(ctx, js, tenant); err != nil {
			return nil, err
		}
		place = m.ends[0].Incarnation.String()
		if m.bucket, err = streamio.OpenImports(ctx, js); err != nil {
			_ = ui.Line(a.Err, "the bucket %s cannot be read, so all facts of logs that have grown are published: %v", streamio.ImportsBucket, err)
		}
	}
	m.folder = known.FolderOf(a.Flags.Data, tenant, place)
	return m, nil
}

// follow makes the memory one of logs that are imported again and again by this process.
func (m *memory) follow() {
	m.again = false
	if m.stored == nil {
		m.stored = make(map[string]known.Source)
	}
}

func readEnds(ctx context.Context, js jetstream.JetStream, tenant string) (ends []known.Place, err error) {
	found, err := streamio.ReadEnds(ctx, js, tenant)
	for _, end := range found {
		ends = append(ends, known.Place{Incarnation: end.Incarnation, Last: end.Last})
	}
	return ends, err
}

// stampOf returns the stamp of a log. A log of bodies is all files of its folder.
func stampOf(format model.Format, file string) known.Stamp {
	if format == model.FormatClaudeBodies {
		file = filepath.Dir(file)
	}
	return known.StampOf(file)
}

// unchanged returns the report of a log that is as it was when it was imported last.
func (m *memory) unchanged(path, kind string, stamp known.Stamp) (model.Report, bool) {
	if m.again {
		return model.Report{}, false
	}
	entry, report, ok := m.folder.Find(path, kind, stamp)
	return report, ok && !slices.ContainsFunc(entry.At, func(p known.Place) bool { return !p.Holds(m.ends) })
}

// before returns what the stream has of the source of an event.
func (m *memory) before(ctx context.Context, e *schema.Event) known.Source {
	key := known.Key(m.tenant, e.Source)
	if s, ok := m.stored[key]; ok && (m.ends == nil || s.At.Holds(m.ends)) {
		return s
	}
	if m.bucket == nil {
		return known.Source{}
	}
	if s, ok := m.sources[key]; ok { // another log of this import has it; its facts are queued
		return s.Source
	}
	value, err := m.bucket.Get(ctx, key)
	if err != nil { // an import that knows nothing is right, too
		return known.Source{}
	}
	s, err := known.Decode(value.Value())
	if err != nil {
		m.damaged++
		return known.Source{}
	}
	if !s.At.Holds(m.ends) {
		return known.Source{}
	}
	return s
}

// filter returns a filter for the facts of a log, and a function that is called at its end.
func (m *memory) filter(ctx context.Context, corrected map[string]bool, emit func(*schema.Event) error) (*known.Filter, func() error) {
	partitions := make(map[string]int)
	f := known.NewFilter(func(e *schema.Event) known.Source {
		partitions[e.Source] = schema.Partitions(max(1, len(m.ends))).Of(schema.SubjectOf(e).String())
		return m.before(ctx, e)
	}, func(e *schema.Event) error {
		m.published++
		return emit(e)
	})
	f.Again, f.Corrected = m.again, corrected
	return f, func() error {
		added, err := f.End()
		for source, s := range added {
			m.sources[known.Key(m.tenant, source)] = addedSource{s, partitions[source]}
		}
		return err
	}
}

// note notes an imported log, to be kept when its facts are stored.
func (m *memory) note(log keptLog, report model.Report) (err error) {
	if report.Facts == 0 {
		return nil
	}
	log.entry.Report, err = report.Kept()
	m.logs = append(m.logs, log)
	return err
}

// keep keeps what was noted. The stream must have stored the facts. A memory that takes nothing makes
// the next import slower, so it is reported and is no error.
func (m *memory) keep(ctx context.Context, a *cli.App) {
	defer func() {
		m.logs, m.damaged = nil, 0
		clear(m.sources)
	}()
	if m.damaged > 0 {
		_ = ui.Line(a.Err, "%s of the bucket %s cannot be read and were not used", ui.Plural(m.damaged, "value"), streamio.ImportsBucket)
	}
	if m.ends != nil && len(m.logs) > 0 {
		ends, err := readEnds(ctx, m.js, m.tenant)
		if err != nil {
			_ = ui.Line(a.Err, "the next import reads these logs again, because the ends of the streams cannot be read: %v", err)
			return
		}
		m.ends = ends
	}
	for _, log := range m.logs {
		log.entry.At = m.ends
		err := m.folder.Keep(log.path, log.kind, log.entry)
		if err == nil {
			err = m.folder.KeepCounts(log.path, log.countsKind, log.counts)
		}
		if err != nil {
			_ = ui.Line(a.Err, "the next import reads these logs again, because this machine's cache cannot be written: %v", err)
			break
		}
	}
	if m.stored != nil {
		for key, s := range m.sources {
			if m.ends != nil {
				s.At = m.ends[s.partition]
			}
			m.stored[key] = s.Source
		}
	}
	if err := m.keepSources(ctx); err != nil {
		_ = ui.Line(a.Err, "the next import of a log that has grown publishes all of its facts, because the bucket %s cannot be written: %v", streamio.ImportsBucket, err)
	}
}

func (m *memory) keepSources(ctx context.Context) error {
	if m.bucket == nil {
		return nil
	}
	const patience = 5 * time.Second // of each value; the facts are stored already
	var acks []jetstream.PubAckFuture
	for key, s := range m.sources {
		s.At = m.ends[s.partition]
		value, err := s.Encode()
		if err != nil {
			return err
		}
		ack, err := m.js.PublishAsync("$KV."+streamio.ImportsBucket+"."+key, value, jetstream.WithStallWait(patience))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
			return fmt.Errorf("no acknowledgement within %s", patience)
		}
	}
	return nil
}
