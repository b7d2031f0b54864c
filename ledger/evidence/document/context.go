package document

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/standard"
)

// contextParts maps each kind of document to its part.
var contextParts = map[standard.Kind]part{
	standard.Envelope: envelopes, standard.Surface: surfaces, standard.Item: items, standard.Selection: selections,
	standard.Budget: budgets, standard.Assembly: assemblies, standard.Compaction: compactions, standard.Missing: missing,
}

// addDocuments adds the Agent Context documents of a fact.
func addDocuments(b *Builder, read *Reading) {
	document, err := read.document, read.err
	if err == nil && document != nil {
		document, err = cite(b, document, read.fact)
	}
	if err == nil && document != nil && b.whole != nil && b.rules() >= 3 {
		document, err = b.whole.expand(document)
	}
	if err != nil {
		b.tally.unread++ // its record is still in events.ndjson
		return
	}
	if document == nil {
		return
	}
	b.add(contextParts[read.kind], document)
	for _, source := range read.sources {
		b.add(sourceRefs, source)
	}
}

// addEventDocument adds the event as an Agent Context document without data. The record contains
// the data, byte for byte.
func addEventDocument(b *Builder, e *schema.Event, toldBy string) {
	if e.Time.IsZero() {
		return // the standard requires a time
	}
	word := string(e.EventType())
	if word == "" {
		word = e.Type
	}
	o := b.line.begin().text("schema_version", Version).text("event_id", e.ID).text("event_type", word).text("source", e.Source).
		text("subject", e.Subject).time("time", e.Time)
	for _, f := range schema.CorrelationFields {
		o.text(f.Column, *f.Of(&e.Correlation))
	}
	o.open("metadata").text("record", b.recordRef()).text("told_better_by", toldBy)
	if e.Sequence != nil {
		o.key("sequence")
		o.b = strconv.AppendInt(o.b, *e.Sequence, 10)
	}
	o.shut()
	b.add(events, o.end())
}

// cite replaces inline content of a fact by a reference to its record.
func cite(b *Builder, document []byte, fact schema.Fact) ([]byte, error) {
	switch f := fact.(type) {
	case *schema.ItemAdded:
		if f.Content == nil {
			return document, nil
		}
	case *schema.ItemUpdated:
		if f.Content == nil {
			return document, nil
		}
	case *schema.AssemblyCreated:
		if !holdsContent(f.OrderedBlocks) {
			return document, nil
		}
		return citeBlocks(b, document)
	default:
		return document, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	citeMember(b, members, "/data/content")
	members["content_mode"] = jsontext.Value(`"ref"`)
	return json.Marshal(members, json.Deterministic(true))
}

func holdsContent(blocks []schema.Block) bool {
	for i := range blocks {
		if blocks[i].Content != "" {
			return true
		}
	}
	return false
}

func citeBlocks(b *Builder, document []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	var blocks []map[string]jsontext.Value
	if err := json.Unmarshal(members["ordered_blocks"], &blocks); err != nil {
		return nil, err
	}
	for i, block := range blocks {
		if _, has := block["content"]; has {
			citeMember(b, block, "/data/ordered_blocks/"+strconv.Itoa(i)+"/content")
		}
	}
	text, err := json.Marshal(blocks, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	members["ordered_blocks"] = text
	return json.Marshal(members, json.Deterministic(true))
}

// citeMember replaces the content of an object by a reference. An existing reference stays.
func citeMember(b *Builder, members map[string]jsontext.Value, pointer string) {
	delete(members, "content")
	if _, has := members["content_ref"]; !has {
		members["content_ref"] = jsontext.Value(b.spare.begin().text("uri", b.recordRef()).text("json_pointer", pointer).end()).Clone()
	}
}

// addRedaction adds the redaction of a fact to the pack's redactions.
func addRedaction(b *Builder, e *schema.Event, fact schema.Fact) {
	f, ok := fact.(*schema.RedactionApplied)
	if !ok {
		return
	}
	b.tally.redactions++
	target := b.target(f.TargetRef)
	o := b.line.begin().text("redaction_id", evidenceID(redactKind, f.RedactionID)).text("target_ref", target).
		text("redaction_kind", redactionKind(f.RedactionState)).text("context_state", string(f.RedactionState)).text("reason", f.Reason)
	applied := f.ActorRef.ID()
	if applied == "" {
		applied = e.Source
	}
	o.text("applied_by", applied)
	if f.ReplacementRef != "" {
		o.text("replacement_ref", evidenceID(itemKind, f.ReplacementRef.ID()))
	}
	o.texts("policy_refs", schema.RefIDs(f.PolicyRefs))
	b.add(redactions, o.text("record", b.node).time("applied_at", e.Time).end())
}
