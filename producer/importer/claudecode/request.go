package claudecode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/canonical"
)

// requestRecord is a record of type api-request-shape, api-request-blob or api-request.
type requestRecord struct {
	ID        string        `json:"id"`
	Hash      string        `json:"hash"`
	Message   jsonscan.Span `json:"message"`
	ShapeHash string        `json:"shapeHash"`
	Shape     jsonscan.Span `json:"shape"`
	Base      string        `json:"base"`
	Keep      int           `json:"keep"`
	Tail      []string      `json:"tail"`
}

type sum = [sha256.Size]byte

// requests holds the requests that the log records. A request names its messages by their
// digests. Memory grows with the number of different blocks and of requests, not with their text.
type requests struct {
	writer   *model.Writer
	shapes   map[sum][]*model.Block
	messages map[sum]*message
	byID     map[string]*request
	pending  map[model.ThreadKey]*pending
	texts    map[uint64]held // hash of a text → the item that has it
	parts    map[sum]*model.Block
}

// message is a message of requests, proven by its digest.
type message struct {
	blocks []*model.Block
	logged bool // a record of the log has the message
	answer bool // the role is assistant
}

// held is an item with its tokens.
type held struct {
	item      string
	tokens    int64
	estimator string
}

// request is one recorded request: the first keep messages of base, then tail.
type request struct {
	base  *request
	keep  int
	tail  []*message // nil where the digest names no message of the log
	shape []*model.Block
	fault string // why the window is not proven, "" for a proven window
}

func newRequests(w *model.Writer) *requests {
	return &requests{
		writer: w,
		shapes: make(map[sum][]*model.Block), messages: make(map[sum]*message), byID: make(map[string]*request),
		pending: make(map[model.ThreadKey]*pending), texts: make(map[uint64]held), parts: make(map[sum]*model.Block),
	}
}

// request reads a record of a request. key is the thread of the record.
func (im *claudeImport) request(line []byte, rec *claudeRecord, key model.ThreadKey, number int) error {
	var q requestRecord
	if err := json.Unmarshal(line, &q, jsonscan.Lenient); err != nil {
		im.Problem(number, model.NewLineError(model.ReasonUnexpectedValue, "a member of "+rec.kind()+" has another form"))
		return nil
	}
	if rec.AgentID != "" {
		key.Thread = rec.AgentID
	}
	if rec.kind() == "api-request" {
		im.requests.note(&q, key, number)
		return nil
	}
	at, ok := rec.time()
	if s := im.Sessions[key.Session]; !ok && s != nil {
		at = s.Last
	}
	if at.IsZero() {
		at = im.index.firstTime[key.Session]
	}
	if at.IsZero() {
		im.Problem(number, model.NewLineError(model.ReasonNoTime, "not imported: no record of the session has a time"))
		return nil
	}
	o := &model.Origin{Thread: im.claudeThread(key, at, number, false), Record: rec.id(key, number), At: at, Line: number}
	if err := im.Open(&record{claudeRecord: rec, Origin: *o}); err != nil {
		return err
	}
	if rec.kind() == "api-request-shape" {
		return im.requests.shape(o, &q)
	}
	return im.requests.blob(o, &q)
}

// shape keeps the system prompt and the tool definitions of requests, and emits their items.
func (all *requests) shape(o *model.Origin, q *requestRecord) error {
	name, ok := all.prove(o, q.ShapeHash, q.Shape)
	if !ok {
		return nil
	}
	if _, known := all.shapes[name]; known {
		return nil
	}
	var shape struct {
		System jsonscan.Span `json:"system"`
		Tools  jsonscan.Span `json:"tools"`
	}
	if json.Unmarshal(q.Shape, &shape, jsonscan.Lenient) != nil {
		return nil // proven, but of another form
	}
	read := readRequest(shape.System, shape.Tools, nil)
	blocks, err := all.blocksOf(o, read)
	all.shapes[name] = blocks
	return err
}

// blob keeps a message that no record has, and emits items for its parts.
func (all *requests) blob(o *model.Origin, q *requestRecord) error {
	name, ok := all.prove(o, q.Hash, q.Message)
	if !ok {
		return nil
	}
	if _, known := all.messages[name]; known {
		return nil
	}
	read := readRequest(nil, nil, q.Message)
	blocks, err := all.blocksOf(o, read)
	all.messages[name] = &message{blocks: blocks, answer: len(read) > 0 && read[0].Role == "assistant"}
	return err
}

// prove compares a value with its digest.
func (all *requests) prove(o *model.Origin, name string, value jsonscan.Span) (sum, bool) {
	want, ok := readSum(name)
	if value == nil || !ok {
		all.writer.Problem(o.Line, model.NewLineError(model.ReasonUnexpectedValue, "the record has no content or no digest"))
		return sum{}, false
	}
	got, err := canonical.Sum(value)
	if err != nil || got != want {
		all.writer.Problem(o.Line, model.NewLineError(model.ReasonUnprovenWindow, "the content differs from its digest; windows with it are reconstructed"))
		return sum{}, false
	}
	return want, true
}

func readSum(name string) (s sum, ok bool) {
	n, err := hex.Decode(s[:], []byte(name[:min(len(name), 2*sha256.Size)]))
	return s, err == nil && n == len(s) && len(name) == 2*sha256.Size
}

// readRequest returns the blocks of a request with one message. Messages follow another one, so a
// system message counts as injected.
func readRequest(system, tools, message []byte) []dialect.Block {
	var body bytes.Buffer
	body.WriteString(`{"messages":[{"role":"user","content":[]}`)
	if message != nil {
		body.WriteByte(',')
		body.Write(message)
	}
	body.WriteByte(']')
	for name, value := range map[string][]byte{"system": system, "tools": tools} {
		if value != nil {
			body.WriteString(`,"` + name + `":`)
			body.Write(value)
		}
	}
	body.WriteByte('}')
	read, err := dialect.AnthropicMessages.ReadRequest(body.Bytes())
	if err != nil {
		return nil
	}
	return read.Blocks
}

// blocksOf returns the blocks of a request's part. A block whose content no item has becomes an
// item.
func (all *requests) blocksOf(o *model.Origin, read []dialect.Block) ([]*model.Block, error) {
	list := make([]*model.Block, len(read))
	for i := range read {
		b, err := all.block(&read[i])
		if err != nil {
			continue
		}
		if known := all.parts[b.Sum]; known != nil && known.Layer == b.Layer && known.Role == b.Role {
			list[i] = known
			continue
		}
		list[i] = b
		all.parts[b.Sum] = b
		if text := read[i].Text; text != nil && b.Kind != "tool_definition" {
			if h, known := all.texts[model.HashOf(string(text))]; known {
				b.Item, b.Tokens, b.Estimator = h.item, h.tokens, h.estimator
				continue
			}
		}
		if err := all.part(o, b, &read[i], i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// block returns a block without an item.
func (all *requests) block(read *dialect.Block) (*model.Block, error) {
	digest, err := canonical.Sum(read.Raw)
	if err != nil {
		return nil, err
	}
	return &model.Block{
		Kind: read.Kind, Layer: model.LayerNamed(string(read.Layer)), Role: read.Role, Tokens: -1,
		Sum: digest, Digest: all.writer.Opts.Equality.EqualityDigest(digest),
	}, nil
}

// part emits the item of a block.
func (all *requests) part(o *model.Origin, b *model.Block, read *dialect.Block, i int) error {
	p := &model.Piece{
		ID: o.Record + ":" + strconv.Itoa(i), Name: []string{strconv.Itoa(i)}, Kind: b.Kind, Layer: b.Layer, Role: b.Role,
		Title: model.ShortText(read.Name, 256),
	}
	if read.Readable() {
		p.SetText(string(read.Text))
	} else {
		size := int64(len(read.Raw))
		p.Size = &size
	}
	item, err := all.writer.Part(o, p)
	if err != nil || item == nil {
		return err
	}
	b.Item = p.ID
	if item.TokenEstimate != nil {
		b.Tokens, b.Estimator = *item.TokenEstimate, item.Estimator
	}
	if read.Readable() {
		all.texts[model.HashOf(string(read.Text))] = held{b.Item, b.Tokens, b.Estimator}
	}
	return nil
}

// note keeps a request until its answer.
func (all *requests) note(q *requestRecord, key model.ThreadKey, number int) {
	if q.ID == "" || all.byID[q.ID] != nil {
		return
	}
	if p := all.pending[key]; p != nil {
		all.close(p)
	}
	r := &request{keep: q.Keep, tail: make([]*message, len(q.Tail))}
	all.byID[q.ID] = r
	if name, ok := readSum(q.ShapeHash); ok {
		r.shape = all.shapes[name]
	}
	if r.shape == nil {
		r.fault = "the log lacks its system prompt and tools"
	}
	if q.Base != "" {
		switch r.base = all.byID[q.Base]; {
		case r.base == nil:
			r.fault = "the log lacks its base"
		case r.base.fault != "":
			r.fault = r.base.fault
		case q.Keep < 0 || q.Keep > r.base.length():
			r.fault = fmt.Sprintf("its base has no %d messages", q.Keep)
		}
	}
	for i, name := range q.Tail {
		if digest, ok := readSum(name); ok {
			r.tail[i] = all.messages[digest]
		}
		if r.tail[i] == nil && r.fault == "" {
			r.fault = "no message of the log has the digest of message " + strconv.Itoa(q.Keep+i)
		}
	}
	if r.fault != "" {
		all.writer.Problem(number, model.NewLineError(model.ReasonUnprovenWindow, "the window is reconstructed: "+r.fault))
	}
}

func (r *request) length() int {
	if r.base == nil {
		return len(r.tail)
	}
	return r.keep + len(r.tail)
}

// messages returns the messages of a proven request.
func (r *request) messages() []*message {
	list := make([]*message, r.length())
	end := len(list)
	for at := r; at != nil && end > 0; at = at.base {
		begin := at.length() - len(at.tail)
		if begin < end {
			copy(list[begin:end], at.tail)
			end = begin
		}
	}
	return list
}

// window returns the window of the request that a record answers, nil without a proven one.
func (all *requests) window(r *record) *model.Window {
	q := all.byID[r.RequestRef]
	if q == nil || q.fault != "" {
		return nil
	}
	win := &model.Window{ID: r.RequestRef, Blocks: append([]*model.Block(nil), q.shape...)}
	for _, m := range q.messages() {
		win.Blocks = append(win.Blocks, m.blocks...)
		if m.answer && !m.logged && len(win.Lacking) == 0 {
			win.Lacking = []string{string(schema.PartialCall)}
		}
	}
	return win
}
