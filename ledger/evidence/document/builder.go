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

// Builder derives the documents of a pack from its records, added in log order. Not safe for
// concurrent use. After the first error of a writer, Builder writes nothing more.
type Builder struct {
	header pack.Header
	lists  [partCount]list
	identities
	err error

	current
	lines
	tally tally
	scope scopeIDs
	collected
}

// collected is what the facts of all records say together.
type collected struct {
	gaps     gaps
	windows  windows
	tellings tellings
	conflict conservation
	taken    []takenItem
	account  account
}

// current is the record that is being added.
type current struct {
	log    int
	record *pack.Record
	node   string // evidence id of the record
	edgeID int    // number of edges of the record so far
	drawn  map[edge]struct{}
	whole  *assembly // of an assembly: with the blocks of its bases
}

// identities are the ids named by the records.
type identities struct {
	ids     idtable.Table // the standing of each id, by evidence id
	lacking lacking
}

// lines holds buffers for output lines.
type lines struct {
	line  object // the current line
	spare object // an object within the line
}

// standing is the state of an id.
type standing uint8

const (
	named   standing = iota + 1 // named, but not made, by a fact
	defined                     // made or changed by a fact of the pack
	outside                     // a thing that no fact of the contract makes, such as a policy or a run
)

// list is the state of one part.
type list struct {
	w     io.Writer
	begun bool
}

// New begins the documents of a pack. New calls open once for each part. The documents are written
// in many small pieces, so writers to files need a buffer. The error is a wrong header or that of a
// writer.
func New(h pack.Header, open func(Part) io.Writer) (*Builder, error) {
	if err := validate(h); err != nil {
		return nil, err
	}
	b := &Builder{header: h, current: current{drawn: make(map[edge]struct{})}}
	for i := range parts {
		b.lists[i].w = open(parts[i].Part)
	}
	b.gaps.open = make(map[uint64]gap)
	b.windows.begin(b.rules())
	b.tellings.begin(h)
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

// add writes an element of a list on a separate line.
func (b *Builder) add(p part, element []byte) {
	separator := ",\n"
	if !b.lists[p].begun {
		separator, b.lists[p].begun = "\n", true
	}
	b.put(p, []byte(separator))
	b.put(p, element)
}

// begin writes the text in front of the lists.
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

// made adds the exporter and the time of a document.
func (b *Builder) made(o *object) *object {
	o.time("created_at", b.header.Created).time("updated_at", b.header.Created)
	o.open("producer").text("id", "ctxledger").text("type", "exporter").text("name", "ctxledger").text("version", b.header.Exporter)
	return o.shut()
}

// askedScope returns the requested scope in the form of Agent Evidence.
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

// Add adds the next record, from the log at this index of the header's list. Records come in the
// order of logs and indexes. An event that breaks the contract, or has an unknown type, gets a
// record node but no documents.
func (b *Builder) Add(log int, r *pack.Record) error { return b.AddRead(log, Read(r)) }

// AddRead is [Builder.Add] for a record that [Read] has read.
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
	toldBy := b.tellings.toldBy(r.Event, fact)
	b.addRecordNode(r.Event, toldBy)
	b.addTelemetry(r.Event)
	addEventDocument(b, r.Event, toldBy)
	if fact == nil {
		b.tally.unread++
		return b.err
	}
	if f, ok := fact.(*schema.UsageRecorded); ok && b.rules() >= 3 {
		b.tellings.see(b.node, r.RecordedAt, r.Event, f)
	}
	if b.tellings.leavesOut(r.Event, fact) {
		return b.err
	}
	b.whole = nil
	if f, ok := fact.(*schema.AssemblyCreated); ok && (!beside || b.rules() >= 3) {
		b.whole = b.windows.whole(r.Event, f)
	}
	relate(b, r.Event, fact)
	addDocuments(b, read)
	addRedaction(b, r.Event, fact)
	if f, ok := fact.(*schema.ErasureApplied); ok {
		b.account.explain(f)
	}
	if beside {
		b.windows.name(fact)
		return b.err
	}
	b.gaps.see(log, r, fact)
	b.conflict.see(b.node, fact)
	b.windows.see(r.Event, fact, b.whole)
	b.account.see(&b.windows, r.Event, fact, b.whole)
	return b.err
}

// beside reports whether a record is outside of the requested scope. The pack contains this record
// only because the record describes something. Erasure facts do not count.
func (b *Builder) beside(r *pack.Record) bool {
	if b.rules() < 2 || r.Event == nil || r.Event.EventType() == schema.TypeErasureApplied {
		return false
	}
	return !b.header.Scope.Has(&r.Event.Correlation)
}

// recordID returns the evidence id of a record.
func recordID(log int, r *pack.Record) string {
	return string(recordKind) + ":" + strconv.Itoa(log) + "." + strconv.FormatInt(r.LogIndex, 10)
}

// addContentless adds a record with erased or withheld content.
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
	b.account.erased(b.record.Erased)
	erasure := b.thing(erasureKind, b.record.Erased, nil)
	b.edge(b.node, erasure, "redacted_from")
	expireItem(b, b.node, erasure)
}

// recordRef returns the reference to the record in the pack.
func (b *Builder) recordRef() string {
	return pack.EventsFile + "#" + strconv.Itoa(b.log) + "." + strconv.FormatInt(b.record.LogIndex, 10)
}

// known returns the standing of an evidence id, 0 for an unknown id.
func (b *Builder) known(id string) standing { return standing(b.ids.Get(idtable.Hash(id))) }

func (b *Builder) stands(id string, s standing) {
	b.ids.Set(idtable.Hash(id), uint8(s))
	if s == defined {
		b.lacking.describe(id)
	}
}

// rules returns the version of the derivation rules.
func (b *Builder) rules() int { return max(1, b.header.Rules) }

// Lacking returns the things that the records so far name and no record describes, in order of kind
// and id.
func (b *Builder) Lacking() []Thing { return b.lacking.list() }

// Summary describes the content of a finished pack.
type Summary struct {
	Records  uint64    // all records
	Events   uint64    // records with content
	Erased   uint64    // records with erased content
	Withheld uint64    // records with withheld content
	Unread   uint64    // events of unknown type or in breach of the contract
	Windows  int       // turns with a window
	Lacking  []Thing   // the first of the things that records name and no record describes
	First    time.Time // of the events, by their own time; zero without events
	Last     time.Time
	status   string
	// completeness and scope are also in the manifest.
	completeness, scope []byte
}

// Close finishes all parts. The builder cannot be used afterwards.
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
