package document

import (
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// edge is one edge of the provenance, without its id.
type edge struct{ from, to, relationship string }

// edge adds an edge, at most once per record.
func (b *Builder) edge(from, to, relationship string) {
	e := edge{from, to, relationship}
	if _, have := b.drawn[e]; have || from == to {
		return
	}
	b.drawn[e] = struct{}{}
	id := "edge" + strings.TrimPrefix(b.node, string(recordKind)) + "." + strconv.Itoa(b.edgeID)
	b.edgeID++
	b.add(edges, b.line.begin().text("edge_id", id).text("from", from).text("to", to).text("relationship", relationship).end())
}

// thing returns the evidence id of a thing that the record names. The first mention adds its node
// and its entry in the source map. details can add members to the entry.
func (b *Builder) thing(k kind, id string, details func(*object)) string {
	mapped := evidenceID(k, id)
	if b.known(mapped) != 0 {
		return mapped
	}
	t := things[k]
	if t.file == "" {
		b.stands(mapped, outside)
	} else {
		b.stands(mapped, named)
		b.lacking.name(mapped, k, id)
	}
	o := b.line.begin().text("node_id", mapped).text("type", t.node).text(t.node+"_type", t.word)
	escaped := mapped != string(k)+":"+id
	if escaped {
		o.text("id", id)
	}
	if t.file != "" {
		o.text("ref", t.file+"#"+id)
	}
	b.add(nodes, o.end())
	if t.node != "entity" {
		return mapped
	}
	o = b.line.begin().text("source_id", mapped)
	if k != sourceKind {
		o.text("source_kind", t.word)
	}
	if t.file != "" {
		o.text("ref", t.file+"#"+id)
	}
	if escaped {
		o.text("id", id)
	}
	if details != nil {
		details(o)
	} else if k == sourceKind {
		o.text("source_kind", "unknown")
	}
	b.add(sources, o.end())
	if k == itemKind {
		b.add(inputs, b.line.begin().text("ref_id", mapped).text("kind", t.word).text("uri", t.file+"#"+id).end())
	}
	return mapped
}

// makes records that the record made or changed a thing, and returns its evidence id.
func (b *Builder) makes(k kind, id string, details func(*object)) string {
	mapped := b.thing(k, id, details)
	b.stands(mapped, defined)
	b.edge(mapped, b.node, "generated_by")
	return mapped
}

// uses adds edges from the record to the things that it used.
func (b *Builder) uses(k kind, refs ...schema.Ref) {
	for _, ref := range refs {
		if id := ref.ID(); id != "" {
			b.edge(b.node, b.thing(k, id, nil), "used")
		}
	}
}

// derives adds edges from a thing to the things that it came from.
func (b *Builder) derives(from string, k kind, refs ...schema.Ref) {
	for _, ref := range refs {
		if id := ref.ID(); id != "" {
			b.edge(from, b.thing(k, id, nil), "derived_from")
		}
	}
}

// derivesEntries is derives for references to items or to entries of the item log. A reference
// names an entry if an entry with this id was named and no item was.
func (b *Builder) derivesEntries(from string, refs []schema.Ref) {
	for _, ref := range refs {
		k := itemKind
		if id := ref.ID(); b.known(evidenceID(itemKind, id)) == 0 && b.known(evidenceID(logKind, id)) != 0 {
			k = logKind
		}
		b.derives(from, k, ref)
	}
}

// addRecordNode adds the node of the record and edges to its run, turn, session and other ids. toldBy is
// the source that tells the record better, "" if the record counts.
func (b *Builder) addRecordNode(e *schema.Event, toldBy string) {
	word := string(e.EventType())
	if word == "" {
		word = e.Type
	}
	o := b.line.begin().text("node_id", b.node).text("type", "activity").text("activity_type", word).text("ref", b.recordRef()).time("timestamp", e.Time).
		text("told_better_by", toldBy)
	if trace, span, ok := traceIDs(e.TraceParent); ok {
		o.open("telemetry").text("trace_id", trace).text("span_id", span).text("event_id", e.ID)
		o.shut()
	}
	b.add(nodes, o.end())
	where := ""
	if e.RunID != "" {
		where = b.run(e)
	}
	if e.AttemptID != "" {
		attempt := b.thing(attemptKind, e.AttemptID, nil)
		if where != "" {
			b.edge(attempt, where, "associated_with")
		}
		where = attempt
	}
	if where != "" {
		b.edge(b.node, where, "associated_with")
	}
	for i, in := range []struct {
		kind kind
		id   string
	}{
		{turnKind, e.TurnID}, {taskKind, e.TaskID}, {sessionKind, e.SessionID}, {threadKind, e.ThreadID},
		{stepKind, e.StepID}, {toolCallKind, e.ToolCallID}, {actionKind, e.ActionID},
	} {
		if in.id != "" && (i == 0 || b.rules() >= 2) {
			b.edge(b.node, b.thing(in.kind, in.id, nil), "associated_with")
		}
	}
}

// run returns the run of an event. A new run gets edges to its agent and to its parent run.
func (b *Builder) run(e *schema.Event) string {
	id := evidenceID(runKind, e.RunID)
	if b.known(id) != 0 {
		return id
	}
	b.thing(runKind, e.RunID, nil)
	if e.Agent != "" {
		b.edge(id, b.thing(agentKind, e.Agent, nil), "associated_with")
	}
	if e.ParentRunID != "" {
		b.edge(id, b.thing(runKind, e.ParentRunID, nil), "associated_with")
	}
	return id
}

// addTelemetry adds the trace of an event, unless the trace is already known.
func (b *Builder) addTelemetry(e *schema.Event) {
	trace, span, ok := traceIDs(e.TraceParent)
	if !ok {
		return
	}
	b.tally.traced++
	key := "trace\x00" + trace
	if b.known(key) != 0 {
		return
	}
	b.stands(key, outside)
	ref := b.line.begin().text("trace_id", trace).text("span_id", span).text("event_id", e.ID).text("session_id", e.SessionID).
		text("turn_id", e.TurnID).text("run_id", e.RunID).end()
	b.add(telemetry, ref)
	b.add(traces, ref)
}

// traceIDs reads the trace and span of a traceparent (W3C Trace Context).
func traceIDs(parent string) (trace, span string, ok bool) {
	fields := strings.Split(parent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || len(fields[2]) != 16 {
		return "", "", false
	}
	return fields[1], fields[2], true
}
