package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// documentFiles lists the files with schemas in the order for checking references: definitions of
// ids come before their uses.
func documentFiles() []string {
	first := []string{pack.ProvenanceFile, pack.SourceMapFile}
	for _, file := range append(document.Files(), pack.ManifestFile) {
		if id, _ := document.Schema(file); id != "" && !slices.Contains(first, file) {
			first = append(first, file)
		}
	}
	return first
}

// checkDocuments answers schemas and references, file by file and line by line. Each element of a
// list has its own line.
func (v *verifier) checkDocuments(ctx context.Context) error {
	schemas, err := schemasOf()
	if err != nil {
		return fmt.Errorf("compile the schemas: %w", err)
	}
	refs := newReferences(v)
	files, count := 0, int64(0)
	done := make(chan *elements, 2*runtime.GOMAXPROCS(0))
	for _, file := range documentFiles() {
		if !v.pack.Has(file) {
			continue // reported by checkFiles
		}
		d := documentCheck{v: v, file: file, schemas: schemas[file], refs: refs, done: done}
		if err := d.run(ctx); err != nil {
			return err
		}
		files++
		count += d.elements
	}
	v.found.settle(Schemas, Passed, "valid documents: %d in %d files", count, files)
	refs.settle()
	return nil
}

// documentCheck checks one file.
type documentCheck struct {
	v        *verifier
	file     string
	schemas  documentSchemas
	refs     *references
	list     string // the list of the next elements
	skeleton []byte // the text without list elements
	elements int64
	done     chan *elements // checked elements, for reuse
}

// elements are consecutive lines, each an element of a list.
type elements struct {
	first int64 // line number of the first
	text  []byte
	ends  []int // end of each in text
}

// elementsAtOnce bounds the elements that a worker gets at a time, together with bytesAtOnce.
const elementsAtOnce = 512

// room returns an empty buffer for elements, a used one if possible.
func (d *documentCheck) room() *elements {
	select {
	case e := <-d.done:
		e.text, e.ends = e.text[:0], e.ends[:0]
		return e
	default:
		return &elements{}
	}
}

// add adds the next line and reports whether there is room for more.
func (e *elements) add(number int64, text []byte) bool {
	if len(e.ends) == 0 {
		e.first = number
	}
	e.text = append(e.text, text...)
	e.ends = append(e.ends, len(e.text))
	return len(e.ends) < elementsAtOnce && len(e.text) < bytesAtOnce
}

func (d *documentCheck) run(ctx context.Context) error {
	lines, err := d.v.pack.Lines(d.file)
	if err != nil {
		d.v.unreadable(d.file, 0, err)
		return nil
	}
	defer lines.Close()
	workers := newWorkers(ctx)
	pending := d.room()
	flush := func() {
		if len(pending.ends) > 0 {
			batch, list := pending, d.list
			pending = d.room()
			workers.do(func() { d.checkElements(list, batch) })
		}
	}
	for workers.ctx.Err() == nil {
		var text []byte
		text, err = lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			d.v.unreadable(d.file, lines.Number(), err)
			break
		}
		if trimmed := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte(",")); isElement(trimmed, lines.Number()) {
			d.elements++
			if !pending.add(lines.Number(), trimmed) {
				flush()
			}
			continue
		}
		flush()
		workers.wait()
		d.refs.next()
		d.structure(text, lines.Number())
	}
	flush()
	workers.wait()
	d.refs.next()
	if err := workers.ctx.Err(); err != nil {
		return err
	}
	if err == io.EOF {
		d.checkSkeleton()
	}
	return nil
}

// isElement reports whether a line is an element: a complete object, but not a whole document.
func isElement(text []byte, number int64) bool {
	return number > 1 && len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}'
}

// listBegins matches the end of a line that begins a list.
var listBegins = regexp.MustCompile(`"([a-z_]+)":\[\n?$`)

// structure adds a line from outside of the lists' elements.
func (d *documentCheck) structure(text []byte, number int64) {
	const most = 8 << 20
	if len(d.skeleton)+len(text) > most {
		d.v.found.faultf(Schemas, d.file, number, "more than %d bytes around the elements of lists", most)
		return
	}
	d.skeleton = append(d.skeleton, text...)
	d.list = ""
	if m := listBegins.FindSubmatch(text); m != nil {
		d.list = string(m[1])
	}
}

// checkSkeleton checks the document with empty lists.
func (d *documentCheck) checkSkeleton() {
	var value any
	if err := json.Unmarshal(d.skeleton, &value); err != nil {
		d.v.found.faultf(Schemas, d.file, 0, "is not valid JSON: %v", err)
		return
	}
	if pointer, reason := invalid(d.schemas.whole, value); reason != "" {
		d.v.found.fault(Schemas, Fault{File: d.file, Pointer: pointer, Reason: reason})
	}
	d.refs.document(d.file, value)
}

func (d *documentCheck) checkElements(list string, batch *elements) {
	refs := d.refs.batch(d.file, list)
	from := 0
	for i, to := range batch.ends {
		text, number := batch.text[from:to], batch.first+int64(i)
		from = to
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			d.v.found.faultf(Schemas, d.file, number, "is not valid JSON: %v", err)
			continue
		}
		if pointer, reason := invalid(d.schemas.elements[list], value); reason != "" {
			d.v.found.fault(Schemas, Fault{File: d.file, Line: number, Pointer: pointer, Reason: reason})
		}
		if members, ok := value.(map[string]any); ok {
			refs.element(number, func(name string) ([]byte, bool) {
				text, ok := members[name].(string)
				return []byte(text), ok
			})
		}
	}
	refs.done()
	select {
	case d.done <- batch:
	default:
	}
}

// workers runs independent work on all processors.
type workers struct {
	ctx   context.Context
	group *errgroup.Group
}

func newWorkers(ctx context.Context) *workers {
	w := &workers{ctx: ctx}
	w.begin()
	return w
}

func (w *workers) begin() {
	w.group = new(errgroup.Group)
	w.group.SetLimit(runtime.GOMAXPROCS(0))
}

func (w *workers) do(work func()) {
	w.group.Go(func() error {
		work()
		return nil
	})
}

// wait waits for all work.
func (w *workers) wait() {
	_ = w.group.Wait() // work reports its own errors
	w.begin()
}
