package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/known"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// logImport is one run of import.
type logImport struct {
	app     *cli.App
	format  model.Format
	flags   importFlags
	options model.Options
	key     schema.Key              // encrypts large texts
	total   model.Report            // without the logs of parts
	parts   map[string]model.Report // by log; of a run that follows its logs
	order   []string                // of parts
	said    map[model.Problem]bool
	stream  *streamSide
}

// streamSide is the connection of an import. A new one takes the place of one that is lost.
type streamSide struct {
	js        jetstream.JetStream
	publisher *publish.Publisher
	memory    *memory
	texts     *texts.Writer // nil without a bucket that takes texts
	before    streamio.LastSequences
	blind     bool            // the account may only publish
	billed    map[string]bool // sessions of the published model calls
}

func openImport(ctx context.Context, a *cli.App, format model.Format, flags importFlags) (*logImport, error) {
	ring, err := keyfile.Open(a.Flags.Data, flags.tenant)
	if err != nil {
		return nil, err
	}
	counter := window.NewCounter(window.CounterConfig{})
	im := &logImport{app: a, format: format, flags: flags, parts: make(map[string]model.Report), said: make(map[model.Problem]bool)}
	im.options = model.Options{
		Tenant: flags.tenant, Key: ring.Keys[0], Equality: ring.Equality(), StoreText: flags.storeText, Growing: flags.follow,
		Count: func(model, text string) (int64, string) {
			count := counter.Count(model, text)
			return int64(count.Tokens), count.Estimator
		},
	}
	if im.options.Titles, err = a.TitleMaker(flags.titles); err != nil {
		return nil, err
	}
	if im.stream, err = openStream(ctx, a, flags, ring.Current()); err != nil {
		return nil, err
	}
	if im.stream.texts != nil {
		im.options.LargeText = func(*schema.Event, string) {} // see publish
	}
	im.key = ring.Current()
	return im, nil
}

// openStream connects to the stream. Texts are encrypted under the key.
func openStream(ctx context.Context, a *cli.App, flags importFlags, key schema.Key) (*streamSide, error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return nil, err
	}
	s := &streamSide{js: js, billed: make(map[string]bool)}
	s.before, err = streamio.ReadLastSequences(ctx, js)
	if s.blind = publish.PublishOnly(err); err != nil && !s.blind {
		return nil, err
	}
	s.publisher = publish.New(js, 0)
	if s.memory, err = openMemory(ctx, a, js, flags.tenant, s.blind, flags.again); err != nil {
		return nil, err
	}
	if flags.storeText && !s.blind {
		s.texts = openTexts(ctx, a, js, flags.tenant, key)
	}
	return s, nil
}

// kinds returns what decides the facts of a log, apart from its content. The first is that of this
// run, the last that of a log that does not grow. A log that is as it was when it was imported by one of the kinds has nothing new.
func (im *logImport) kinds() []string {
	kind := string(im.format) + im.options.Telling()
	if im.options.Growing { // which lets facts wait
		return []string{kind + ";growing", kind}
	}
	return []string{kind}
}

// keepEvery is how often a long import keeps what it has stored, for an import after an interruption.
const keepEvery = 10 * time.Second

// all imports every log below the paths. One log's problem does not keep the others out. An error is
// one of the stream or of the machine. others are files of folders without a session log.
func (im *logImport) all(ctx context.Context, paths []string) (others []model.Problem, err error) {
	kept := time.Now()
	for _, path := range paths {
		files, problems := importer.Files(path, im.format)
		if !im.flags.follow {
			im.total.Problems = append(im.total.Problems, problems...)
			problems = nil
		}
		for _, problem := range problems { // a path that does not exist yet may come
			im.say(problem)
		}
		for i, file := range files {
			title := "importing " + file
			if len(files) > 1 {
				title = fmt.Sprintf("importing %d of %d, %s", i+1, len(files), file)
			}
			bar := ui.NewBar(im.app.Err, cli.IsTerminal(im.app.Err), title)
			im.options.Progress = bar.Set
			part, err := im.one(ctx, file)
			bar.Done()
			if file != path && isNoLog(part) {
				others = append(others, part.Problems[0])
				continue
			}
			im.add(file, part)
			if err != nil {
				return others, err // names the file
			}
			if time.Since(kept) > keepEvery {
				if err := im.store(ctx); err != nil {
					return others, err
				}
				kept = time.Now()
			}
		}
	}
	im.options.Progress = nil
	return others, im.store(ctx)
}

// isNoLog reports whether a file turned out to be no session log.
func isNoLog(part model.Report) bool {
	return len(part.Problems) == 1 && part.Problems[0].Reason == model.ReasonUnknownFormat
}

// one imports one log, unless it is as it was when it was imported last.
func (im *logImport) one(ctx context.Context, file string) (model.Report, error) {
	stamp := stampOf(im.format, file)
	for _, kind := range im.kinds() {
		if part, ok := im.stream.memory.unchanged(file, kind, stamp); ok {
			return part, nil
		}
	}
	memory, kinds, options := im.stream.memory, im.kinds(), im.options
	log := keptLog{path: file, kind: kinds[0], entry: known.Entry{Stamp: stamp}, countsKind: kinds[len(kinds)-1]}
	log.counts = memory.folder.Counts(file, log.countsKind, options.Key)
	options.Count = func(model, text string) (int64, string) { return log.counts.Count(model, text, im.options.Count) }
	part, err := im.publish(ctx, file, options, func(o model.Options, emit func(*schema.Event) error) (model.Report, error) {
		return importer.ImportFile(ctx, im.format, file, o, emit)
	})
	if err != nil || isNoLog(part) {
		return part, err
	}
	return part, memory.note(log, part)
}

// replaced imports the file that was replaced by another log. The file is a whole log now.
func (im *logImport) replaced(ctx context.Context, path string, file io.ReadSeeker) error {
	options := im.options
	options.Growing = false
	_, err := im.publish(ctx, path, options, func(o model.Options, emit func(*schema.Event) error) (model.Report, error) {
		return importer.Import(ctx, im.format, path, file, o, emit)
	})
	return err
}

// readLog reads a log and passes its facts to emit.
type readLog func(o model.Options, emit func(*schema.Event) error) (model.Report, error)

// publish publishes the facts of a log that the stream may lack. A log that was rewritten since an
// import stored facts of it is told as a telling of its own.
func (im *logImport) publish(ctx context.Context, path string, o model.Options, read readLog) (model.Report, error) {
	s, before, corrected, where := im.stream, im.stream.memory.published, make(map[string]bool), ""
	for {
		large := make(largeTexts)
		filter, end := s.memory.filter(ctx, corrected, func(e *schema.Event) error {
			if e.EventType() == schema.TypeUsageRecorded {
				s.billed[e.SessionID] = true
			}
			if text, ok := large[e]; ok {
				delete(large, e)
				return s.publishWithText(ctx, e, o.Key.Digest([]byte(text)), text)
			}
			return s.publisher.Publish(ctx, e)
		})
		filter.Dropped = func(e *schema.Event) { delete(large, e) }
		part, err := read(large.of(o), filter.Emit)
		if err == nil {
			err = end()
		}
		var differs *known.Differs
		if !errors.As(err, &differs) {
			if o.Rewritten != "" && s.memory.published > before {
				_ = ui.Line(im.app.Err, "%s was rewritten after an import%s: its facts are a telling of their own, and the earlier ones stay; `ctxledger query tellings` lists calls that both have", path, where)
			}
			return part, err
		}
		comparison := differs.Compare()
		if part, err := read(o, comparison.Emit); err != nil {
			return part, err
		}
		if mark, rewritten := comparison.Rewritten(); rewritten && o.Rewritten != mark {
			if o.Rewritten = mark; comparison.Line() > 0 {
				where = fmt.Sprintf(", first in line %d", comparison.Line())
			}
		} else {
			corrected[differs.Source] = true
		}
	}
}

// store makes sure that the stream has the facts, and keeps what was noted.
func (im *logImport) store(ctx context.Context) error {
	if err := im.stream.settle(ctx); err != nil {
		return err
	}
	im.stream.memory.keep(ctx, im.app)
	return nil
}

// add takes the report of a log in the place of an earlier one.
func (im *logImport) add(file string, part model.Report) {
	if !im.flags.follow {
		im.total.Merge(part)
		return
	}
	if _, known := im.parts[file]; !known {
		im.order = append(im.order, file)
	}
	im.parts[file] = part
}

// report returns the totals of all logs.
func (im *logImport) report() model.Report {
	total := im.total
	for _, file := range im.order {
		total.Merge(im.parts[file])
	}
	return total
}

// say prints a problem, once.
func (im *logImport) say(p model.Problem) {
	if !im.said[p] {
		im.said[p] = true
		_ = ui.Line(im.app.Err, "%v", p)
	}
}
