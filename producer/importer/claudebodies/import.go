package claudebodies

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

const (
	agent  = "claude-code" // as captures and logs name it
	ending = ":body"

	requestSuffix  = ".request.json"
	responseSuffix = ".response.json"
)

// maxBodyBytes is the largest body that is read, as in a capture.
const maxBodyBytes = dialect.MaxAnswerBytes

var (
	bodies    = model.NewTool(model.FormatClaudeBodies)
	namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte(telling.ImportSource+string(model.FormatClaudeBodies)))
)

// bodyImport is one import of one folder.
type bodyImport struct {
	*model.Writer
	folder   *os.Root
	reader   observe.Reader
	sessions map[string]*session
	indexed  map[string]bool // names of requests
	told     map[string]bool // sessions and messages
}

// session is the state of a session.
type session struct {
	observe.Session
	last time.Time
}

// Import imports the folder of the index file. r reads the index. The bodies are read from the
// files next to it; the index cannot name files elsewhere. Problems name the lines of the index.
// The error is an error of r, of emit or of ctx.
func Import(ctx context.Context, index string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	im := &bodyImport{
		Writer: model.NewWriter(bodies, index, opts, emit), sessions: make(map[string]*session),
		indexed: make(map[string]bool), told: make(map[string]bool),
		reader: observe.Reader{Equality: opts.Equality, Count: opts.Count},
	}
	if !opts.Key.IsZero() {
		im.reader.Content = func(text []byte) string { return opts.Key.Digest(text) }
	}
	var err error
	if im.folder, err = os.OpenRoot(filepath.Dir(index)); err != nil {
		im.Report.Add(model.Problem{File: index, Reason: model.ReasonUnreadableFolder, Detail: reasonOf(err)})
		return im.Report, nil
	}
	defer im.folder.Close()
	err = im.Twice(ctx, r, im.name, im.line)
	if err == nil {
		im.countOthers()
	}
	return im.Report, err
}

// reasonOf returns an error without the path, which the problem has.
func reasonOf(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err.Error()
	}
	return "cannot be read"
}

// name notes the request of a line of the index.
func (im *bodyImport) name(line []byte, _ int, last bool) error {
	var e entry
	if model.DecodeRecord(&im.Lines, line, &e, last) == nil {
		im.indexed[e.Request] = true
	}
	return nil
}

// countOthers counts the requests that the index does not name.
func (im *bodyImport) countOthers() {
	list, _ := fs.Glob(im.folder.FS(), "*"+requestSuffix)
	for _, name := range list {
		if !im.indexed[name] {
			im.Report.Ignore("request without a response")
		}
	}
}

// line imports the call of a line of the index. The error is an error of emit; problems go to the
// report.
func (im *bodyImport) line(line []byte, number int, last bool) error {
	var e entry
	err := model.DecodeRecord(&im.Lines, line, &e, last)
	if err == model.ErrBlank {
		return nil
	}
	if err == nil {
		err = e.check()
	}
	if err != nil {
		im.Problem(number, err)
		return nil
	}
	if im.told[e.Session+"\x00"+e.Message] {
		im.Problem(number, model.NewLineError(model.ReasonDuplicateRecord, "an earlier line has this message_id"))
		return nil
	}
	im.told[e.Session+"\x00"+e.Message] = true
	x, partial, ok := im.read(&e, number)
	if !ok {
		return nil
	}
	s := im.sessions[e.Session]
	if s == nil {
		s = &session{Session: observe.Session{ID: e.Session}}
		im.sessions[e.Session] = s
	}
	at, ok := model.ParseTime(e.Time)
	if !ok {
		im.Problem(number, model.NewLineError(model.ReasonNoTime, ""))
		if at = s.last; at.IsZero() {
			return nil
		}
	}
	s.last = at
	return im.observe(s, x, observe.Call{
		At: at, Agent: agent, RequestID: e.RequestID, Fidelity: schema.FidelitySerialized, Partial: partial,
		StoreText: im.Opts.StoreText, LargeText: im.Opts.StoresLargeText(), Titles: im.Opts.Titles, Telling: ending,
	}, number)
}

// read reads the two bodies of a call. A call without its response has the window and the id.
func (im *bodyImport) read(e *entry, number int) (x *dialect.Exchange, partial []string, ok bool) {
	body, err := im.body(e.Request, requestSuffix)
	if err == nil {
		x = &dialect.Exchange{Dialect: dialect.AnthropicMessages, Operation: dialect.Generate}
		if x.Request, err = x.Dialect.ReadRequest(body); err != nil {
			err = model.NewLineError(model.ReasonMalformedJSON, "the request file: "+err.Error())
		}
	}
	if err != nil {
		im.Problem(number, err)
		return nil, nil, false
	}
	answer, read := x.Dialect.NewReader(200, "application/json"), false
	if body, err := im.body(e.Response, responseSuffix); err != nil {
		im.Problem(number, err)
	} else {
		_, _ = answer.Write(body)
		read = true
	}
	if x.Answer = answer.Answer(); x.Answer.MessageID != e.Message {
		if x.Answer.MessageID != "" {
			im.Problem(number, model.NewLineError(model.ReasonUnexpectedValue, "the response file has another message"))
			x.Answer = dialect.Answer{Status: 200}
		} else if read {
			im.Problem(number, model.NewLineError(model.ReasonMalformedJSON, "the response file has no message: the client may have ended while it wrote"))
		}
		x.Answer.MessageID = e.Message
	}
	hidden := hide(x.Request.Blocks)
	hide(x.Answer.Blocks)
	if hidden {
		partial = []string{string(schema.PartialOpaque)}
	}
	return x, partial, true
}

// body returns the content of a file of the folder.
func (im *bodyImport) body(name, suffix string) ([]byte, error) {
	if !strings.HasSuffix(name, suffix) || strings.ContainsAny(name, `/\`) {
		return nil, model.NewLineError(model.ReasonUnexpectedValue, "the name of a file does not end in "+suffix+", or leads to another folder")
	}
	unreadable := func(err error) error {
		return model.NewLineError(model.ReasonUnreadableFile, "the "+strings.Trim(strings.TrimSuffix(suffix, ".json"), ".")+" file: "+reasonOf(err))
	}
	info, err := im.folder.Lstat(name)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular():
		return nil, unreadable(&fs.PathError{Err: fs.ErrInvalid})
	case info.Size() > maxBodyBytes:
		return nil, model.NewLineError(model.ReasonLineTooLong, fmt.Sprintf("a body has more than %d bytes", maxBodyBytes))
	}
	body, err := im.folder.ReadFile(name)
	if err != nil {
		return nil, unreadable(err)
	}
	return body, nil
}

// mark stands in the place of a reasoning text.
const mark = "<REDACTED>"

// hide makes the blocks opaque whose text the client replaced.
func hide(blocks []dialect.Block) (found bool) {
	for i := range blocks {
		if b := &blocks[i]; b.Kind == "reasoning" && string(b.Text) == mark {
			b.Text, b.Layer, found = nil, dialect.LayerOpaque, true
		}
	}
	return found
}

// observe emits the facts of a call.
func (im *bodyImport) observe(s *session, x *dialect.Exchange, c observe.Call, number int) error {
	for _, f := range s.Observe(&im.reader, x, c) {
		e, ok := im.event(s, &f, f.Fact)
		inline := f.Reduced != nil
		if !ok && inline {
			e, ok = im.event(s, &f, f.Reduced)
			inline = false
		}
		if !ok {
			im.Problem(number, model.NewLineError(model.ReasonFactTooLarge, "or a value that the contract refuses, in a "+string(f.EventType())))
			continue
		}
		s.Sequence++
		sequence := s.Sequence
		e.Sequence = &sequence
		if f.Large != nil && !inline {
			im.Opts.LargeText(e, string(f.Large))
		}
		if err := model.Emit(im.Writer, number, e, f.Fact); err != nil {
			return err
		}
	}
	return nil
}

// event returns the event of a fact. It returns false for one that the contract refuses.
func (im *bodyImport) event(s *session, f *observe.Fact, fact schema.Fact) (*schema.Event, bool) {
	ids := f.IDs
	ids.Tenant = im.Opts.Tenant
	parts := slices.Concat([]string{im.Opts.Tenant, s.ID, string(f.EventType())}, f.Name)
	id := uuid.NewSHA1(namespace, []byte(strings.Join(parts, "\x00"))).String()
	e, err := schema.NewEvent(fact, id, model.SourceOf(im.Writer, s.ID), f.At, ids)
	if err != nil || len(e.Data) > schema.MaxEventBytes {
		return nil, false
	}
	_, found := schema.Validate(e)
	return e, len(found) == 0
}
