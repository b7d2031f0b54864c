package document

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/internal/idtable"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// Builder makes the documents of a pack of the records that it is given, in log
// order. It is not safe for concurrent use. The first error of a writer ends it.
type Builder struct {
	header pack.Header
	lists  [partCount]list
	identities
	err error

	current
	lines
	tally    tally
	scope    scopeIDs
	gaps     gaps
	windows  windows
	conflict conservation
	taken    []takenItem
}

// current is the record that is being added.
type current struct {
	log    int
	record *pack.Record
	node   string // evidence id of the record
	edgeID int    // edges of the record so far
	drawn  map[edge]struct{}
}

// identities are the ids that the records named.
type identities struct {
	ids     idtable.Table // the standing of each, by its evidence id
	lacking lacking
}

// lines has room for the lines that are written.
type lines struct {
	line  object // the line that is being written
	spare object // for one within it
}

// standing is what is known of an id.
type standing uint8

const (
	named   standing = iota + 1 // by a fact that did not make it
	defined                     // a fact of the pack made or changed it
	outside                     // things such as policies and runs, which no fact of ours makes
)

// list is one part in the making.
type list struct {
	w     io.Writer
	begun bool
}

// New begins the documents of a pack. It asks once for the writer of each part; they
// are written in many small pieces, so files want a buffer. The error says what is
// wrong with the header, or is a writer's.
func New(h pack.Header, open func(Part) io.Writer) (*Builder, error) {
	if err := validate(h); err != nil {
		return nil, err
	}
	b := &Builder{header: h, current: current{drawn: make(map[edge]struct{})}}
	for i := range parts {
		b.lists[i].w = open(parts[i].Part)
	}
	b.gaps.open = make(map[uint64]gap)
	b.windows.begin(b.rules() >= 2)
	b.begin()
	return b, b.err
}

// put writes text to a part.
func (b *Builder) put(p part, text []byte) {
	if b.err != nil {
		return
	}
	if _, err := b.lists[p].w.Write(text); err != nil {
		b.err = fmt.Errorf("write %s: %w", parts[p].File, err)
	}
}

// add writes an element of a list, on a line of its own.
func (b *Builder) add(p part, element []byte) {
	separator := ",\n"
	if !b.lists[p].begun {
		separator, b.lists[p].begun = "\n", true
	}
	b.put(p, []byte(separator))
	b.put(p, element)
}

// begin writes what stands before the lists.
func (b *Builder) begin() {
	for i := range parts {
		if pack.IsContextFile(parts[i].File) {
			b.put(part(i), []byte("["))
		}
	}
	head := func(name, id string) *object {
		o := b.line.begin().text(name, id).text("schema_version", Version)
		if name != "evidence_pack_id" {
			o.text("evidence_pack_id", b.header.ID)
		}
		return o
	}
	list := func(p part, o *object, name string) {
		o.key(name)
		o.b = append(o.b, '[')
		b.put(p, o.b)
	}
	list(sources, b.made(head("source_map_id", b.header.ID+".sources")), "sources")
	list(nodes, head("provenance_id", b.header.ID+".provenance").raw("scope", b.askedScope()), "nodes")
	list(inputs, b.made(head("replay_id", b.header.ID+".replay")).raw("scope", b.askedScope()), "input_refs")
	list(redactions, b.made(head("evidence_pack_id", b.header.ID)).text("source_map_ref", pack.SourceMapFile).text("provenance_ref", pack.ProvenanceFile).
		text("export_manifest_ref", pack.ManifestFile).raw("claims", []byte("[]")), "redactions")
	for i := range parts {
		if boundary := parts[i].boundary; boundary != "" {
			b.put(part(i), []byte("\n"+boundary))
		}
	}
	if b.header.RedactIDs {
		b.add(redactions, b.line.begin().text("redaction_id", b.header.ID+".pseudonyms").text("target_ref", b.header.ID).text("redaction_kind", kindPseudonyms).
			text("reason", "privacy").text("applied_by", b.header.Exporter).time("applied_at", b.header.Created).end())
	}
}

// made adds who made a document, and when.
func (b *Builder) made(o *object) *object {
	o.time("created_at", b.header.Created).time("updated_at", b.header.Created)
	o.open("producer").text("id", "ctxledger").text("type", "exporter").text("name", "ctxledger").text("version", b.header.Exporter)
	return o.shut()
}

// askedScope is the scope that was asked for, as a scope of Agent Evidence.
func (b *Builder) askedScope() []byte {
	s := b.header.Scope
	var o object
	o.begin().text("scope_id", evidenceID(kind(s.Kind), scopeID(s))).text("session_id", plainID(s.Session))
	if s.Run != "" {
		o.text("run_id", plainID(s.Run))
	}
	if s.Turn != "" {
		o.text("turn_id", plainID(s.Turn))
	}
	if s.Task != "" {
		o.text("task_id", plainID(s.Task))
	}
	if s.Attempt != "" {
		o.text("attempt_id", plainID(s.Attempt))
	}
	return o.end()
}

// Add goes on with the next record, which is of the log at this place of the header's
// list. Records come in the order of their logs and indexes. An event that does not meet the contract, or is of a type that this
// version does not know, is a record like any other that says nothing.
func (b *Builder) Add(log int, r *pack.Record) error { return b.AddRead(log, Read(r)) }

// AddRead is [Builder.Add] for a record that was read.
func (b *Builder) AddRead(log int, read *Reading) error {
	if b.err != nil {
		return b.err
	}
	r, fact := read.Record, read.fact
	beside := b.beside(r)
	b.log, b.record, b.edgeID = log, r, 0
	b.node = recordID(log, r)
	clear(b.drawn)
	b.tally.records++
	if r.Event == nil {
		b.addContentless()
		return b.err
	}
	b.tally.events++
	if !beside {
		b.scope.see(&r.Event.Correlation)
	}
	b.addRecordNode(r.Event)
	b.addTelemetry(r.Event)
	addEventDocument(b, r.Event)
	if fact == nil {
		b.tally.unread++
		return b.err
	}
	relate(b, r.Event, fact)
	addDocuments(b, read)
	addRedaction(b, r.Event, fact)
	if beside {
		b.windows.name(fact)
		return b.err
	}
	b.gaps.see(log, r, fact)
	b.conflict.see(b.node, fact)
	b.windows.see(r.Event, fact)
	return b.err
}

// beside reports whether a record is not of what was asked for, and is in the pack for
// what it describes. What says of other records that they were erased is not.
func (b *Builder) beside(r *pack.Record) bool {
	if b.rules() < 2 || r.Event == nil || r.Event.EventType() == schema.TypeErasureApplied {
		return false
	}
	return !b.header.Scope.Has(&r.Event.Correlation)
}

// recordID is the evidence id of a record.
func recordID(log int, r *pack.Record) string {
	return string(recordKind) + ":" + strconv.Itoa(log) + "." + strconv.FormatInt(r.LogIndex, 10)
}

// addContentless keeps the place of a record whose content is gone or withheld.
func (b *Builder) addContentless() {
	erased := b.record.Erased != ""
	o := b.line.begin().text("node_id", b.node).text("type", "activity").text("activity_type", "context.fact").text("ref", b.recordRef())
	if erased {
		b.tally.erased++
		o.text("content", "expired")
	} else {
		b.tally.withheld++
		o.text("content", "withheld")
	}
	b.add(nodes, o.end())
	if !erased {
		return
	}
	erasure := b.thing(erasureKind, b.record.Erased, nil)
	b.edge(b.node, erasure, "redacted_from")
	expireItem(b, b.node, erasure)
}

// recordRef says where the record stands in the pack.
func (b *Builder) recordRef() string {
	return pack.EventsFile + "#" + strconv.Itoa(b.log) + "." + strconv.FormatInt(b.record.LogIndex, 10)
}

// known returns what is known of an evidence id, 0 for nothing.
func (b *Builder) known(id string) standing { return standing(b.ids.Get(idtable.Hash(id))) }

func (b *Builder) stands(id string, s standing) {
	b.ids.Set(idtable.Hash(id), uint8(s))
	if s == defined {
		b.lacking.describe(id)
	}
}

// rules is the version of the rules that the documents are derived by.
func (b *Builder) rules() int { return max(1, b.header.Rules) }

// Lacking returns the things that the records so far name and none of them describes, in
// order of kind and id.
func (b *Builder) Lacking() []Thing { return b.lacking.list() }

// Summary is what a finished pack holds.
type Summary struct {
	Records  uint64    // all of them
	Events   uint64    // of them with content
	Erased   uint64    // of them whose content an erasure took
	Withheld uint64    // of them whose content the pack withholds
	Unread   uint64    // events that say nothing to this version
	Windows  int       // turns of which a window was seen
	Lacking  []Thing   // things that records name and none describes; the first of them
	First    time.Time // of the events, by their own time; zero for none
	Last     time.Time
	status   string
	// completeness and scope stand in the manifest too.
	completeness, scope []byte
}

// Close ends all parts. The builder cannot be used afterwards.
func (b *Builder) Close() (Summary, error) {
	if b.err != nil {
		return Summary{}, b.err
	}
	finishDocuments(b)
	s := Summary{
		Records: b.tally.records, Events: b.tally.events, Erased: b.tally.erased, Withheld: b.tally.withheld, Unread: b.tally.unread,
		Windows: b.windows.count(), Lacking: b.lacking.list(), First: b.windows.first, Last: b.windows.last, status: packStatus(b), completeness: completeness(b), scope: scopeDocument(b),
	}
	err := b.err
	if err == nil {
		b.err = errors.New("the documents are closed")
	}
	return s, err
}
