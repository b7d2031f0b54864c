package document

import (
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// finishDocuments writes the text behind the lists.
func finishDocuments(b *Builder) {
	expireItems(b)
	if b.rules() >= 3 {
		compareTellings(b)
	}
	for i := range parts {
		if pack.IsContextFile(parts[i].File) {
			b.put(part(i), []byte("\n]\n"))
		}
	}
	b.put(omissions, contradictions(b))
	b.put(edges, []byte("\n]}\n"))
	b.put(telemetry, append(endOf(b, "\n],"), "}\n"...))
	b.put(traces, []byte("\n],"+replayEnd(b)+"}\n"))
	b.put(verification, verificationDocument(b))
	b.put(readme, readmeText(b))
}

// endOf returns the end of pack.json.
func endOf(b *Builder, begin string) []byte {
	var o object
	o.begin().raw("redaction_summary", redactionSummary(b)).raw("reviews", []byte("[]")).raw("replay_cases", []byte(`[{"ref":"replay.json"}]`)).
		raw("scope", scopeDocument(b)).text("status", packStatus(b)).raw("completeness", completeness(b)).raw("tellings", tellingsDocument(b)).raw("refs", packRefs)
	return append([]byte(begin), o.b[1:]...)
}

// packRefs are the references from pack.json to other files.
var packRefs = []byte(`[{"ref_id":"records","kind":"records","uri":"` + pack.EventsFile + `"},{"ref_id":"replay","kind":"replay","uri":"replay.json"},` +
	`{"ref_id":"verification","kind":"verification","uri":"verification.json"},{"ref_id":"context","kind":"context","uri":"context/"},{"ref_id":"proofs","kind":"proofs","uri":"proofs/"}]`)

// packStatus returns the status of the whole pack.
func packStatus(b *Builder) string {
	switch {
	case b.header.RedactIDs || b.tally.withheld > 0:
		return "redacted"
	case b.tally.events == 0 && b.tally.erased > 0:
		return "expired"
	case b.tally.erased > 0 || b.tally.drops > 0:
		return "partial"
	}
	return "exported"
}

func redactionSummary(b *Builder) []byte {
	var o object
	return o.begin().count("redactions", b.tally.redactions).count("records", b.tally.records).count("expired", b.tally.erased).count("withheld", b.tally.withheld).end()
}

// fact is a missing fact.
type fact struct{ what, reason, owner, details, at string }

// entry writes one entry of the completeness.
func entry(o *object, name, status, notes string, missing ...fact) {
	o.open(name).text("status", status)
	if len(missing) > 0 {
		o.key("missing_facts")
		o.b = append(o.b, '[')
		for i, m := range missing {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			var one object
			o.b = append(o.b, one.begin().text("fact", m.what).text("reason", m.reason).text("owner", m.owner).text("details", m.details).text("observed_at", m.at).end()...)
		}
		o.b = append(o.b, ']')
	}
	o.text("notes", notes).shut()
}

// completeness returns the state of each section: complete, partial, unknown or not collected.
func completeness(b *Builder) []byte {
	var o object
	o.begin()
	entry(&o, "runtime", "not_collected", "context keeps ids of runtime records and never their status", fact{what: "status of the runs and turns", reason: "not_collected"})
	switch {
	case b.tally.traced == 0:
		entry(&o, "telemetry", "not_collected", "", fact{what: "traces", reason: "not_collected", details: "no record has a traceparent"})
	case b.tally.traced < b.tally.events:
		entry(&o, "telemetry", "partial", "", fact{what: "traces of some records", reason: "not_collected",
			details: fmt.Sprintf("%s of %s have a traceparent", thousands(b.tally.traced), plural(b.tally.events, "record"))})
	default:
		entry(&o, "telemetry", "complete", "every record has a traceparent; the spans themselves are elsewhere")
	}
	sourceCompleteness(b, &o)
	entry(&o, "claims", "not_collected", "", fact{what: "claims", reason: "not_collected"})
	entry(&o, "artifacts", "not_collected", "", fact{what: "artifacts", reason: "not_collected"})
	entry(&o, "verification", "not_collected", "run `ctxledger evidence verify`", fact{what: "verdict of a reader", reason: "not_collected"})
	contextCompleteness(b, &o)
	switch {
	case b.header.RedactIDs:
		entry(&o, "privacy", "partial", "ids are pseudonyms", fact{what: "ids", reason: "redacted"})
	case b.tally.redactions > 0:
		entry(&o, "privacy", "partial", plural(b.tally.redactions, "redaction"), fact{what: "redacted content", reason: "redacted"})
	default:
		entry(&o, "privacy", "complete", "no redaction is recorded")
	}
	if b.tally.assemblies == 0 {
		entry(&o, "replay", "not_collected", "", fact{what: "assembled windows", reason: "not_collected"})
	} else {
		entry(&o, "replay", "partial", "the windows are there as ordered references and digests", fact{what: "content of the blocks", reason: "not_collected"}, fact{what: "answers of the model", reason: "not_collected"})
	}
	return o.end()
}

// sourceCompleteness adds whether the pack has the facts that made the named things.
func sourceCompleteness(b *Builder, o *object) {
	absent := b.ids.Count(uint8(named))
	all := absent + b.ids.Count(uint8(defined))
	switch {
	case all == 0:
		entry(o, "sources", "not_collected", "", fact{what: "sources", reason: "not_collected"})
	case absent > 0:
		entry(o, "sources", "partial", "", fact{what: "records that the facts name", reason: "unavailable",
			details: fmt.Sprintf("of %s of %s no fact in this scope says what they are", thousands(absent), plural(all, "thing"))})
	default:
		entry(o, "sources", "complete", "")
	}
}

// contextCompleteness adds the known gaps of the context itself.
func contextCompleteness(b *Builder, o *object) {
	var absent []fact
	if b.tally.erased > 0 {
		absent = append(absent, fact{what: "content of records", reason: "expired", details: plural(b.tally.erased, "record") + " erased on request"})
	}
	if b.tally.withheld > 0 {
		absent = append(absent, fact{what: "content of records", reason: "redacted", details: plural(b.tally.withheld, "record") + " withheld by whoever made the pack"})
	}
	if b.tally.drops > 0 {
		absent = append(absent, fact{what: "facts", reason: "unavailable", details: "a producer says that it dropped facts"})
	}
	for _, g := range b.gaps.list() {
		absent = append(absent, fact{what: "missing context " + evidenceID(missingKind, g.id), reason: missingReason(g.status), owner: g.owner, details: g.label, at: formatTime(g.at)})
	}
	if b.gaps.more > 0 {
		absent = append(absent, fact{what: "missing context", reason: "unknown", details: plural(b.gaps.more, "more gap") + " in context/missing_context.json"})
	}
	notes := "no seal is recorded in this scope: nothing says which facts it should have"
	if b.tally.seals > 0 {
		notes = plural(b.tally.seals, "seal") + " recorded; whether every sequence is there is for the reader to check"
	}
	status := "unknown"
	if len(absent) > 0 {
		status = "partial"
	}
	entry(o, "context", status, notes, absent...)
}

// replayEnd returns the end of replay.json. The input of a model is known by reference and digest,
// its output is not.
func replayEnd(b *Builder) string {
	determinism := "approximate"
	missing := []fact{{what: "content of the blocks", reason: "not_collected"}, {what: "answers of the model", reason: "not_collected"}}
	if b.tally.assemblies == 0 {
		determinism = "unavailable"
		missing = append(missing, fact{what: "assembled windows", reason: "not_collected"})
	}
	var o object
	o.begin().text("determinism", determinism)
	o.key("missing_facts")
	o.b = append(o.b, '[')
	for i, m := range missing {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		var one object
		o.b = append(o.b, one.begin().text("fact", m.what).text("reason", m.reason).end()...)
	}
	o.b = append(o.b, ']')
	return string(o.b[1:])
}

// readerChecks are the checks that only a reader can make.
var readerChecks = []string{"signature", "inclusion", "sequence_completeness", "schema_validity", "reference_closure", "redaction"}

// verificationDocument returns the checks that were made during the derivation.
func verificationDocument(b *Builder) []byte {
	var o object
	o.begin().text("schema_version", Version).text("evidence_pack_id", b.header.ID).raw("scope", b.askedScope())
	b.made(&o)
	o.key("verification_results")
	o.b = append(o.b, '[', '\n')
	c := &b.conflict
	status, severity := "passed", "info"
	switch {
	case c.broken > 0:
		status, severity = "failed", "high"
	case c.checked == 0:
		status = "not_applicable"
	}
	var one object
	one.begin().text("verification_id", b.header.ID+".conservation").text("check_type", "conservation").text("status", status).text("severity", severity)
	var coverage object
	coverage.begin().text("what", "selections").count("checked", c.checked).count("unstated", c.unstated)
	word := "complete"
	if c.unstated > 0 || b.tally.erased+b.tally.withheld > 0 {
		word = "partial"
	}
	one.raw("coverage", []byte("["+string(coverage.text("status", word).end())+"]"))
	one.key("issues")
	one.b = append(one.b, '[')
	for i, record := range c.named {
		if i > 0 {
			one.b = append(one.b, ',')
		}
		var issue object
		one.b = append(one.b, issue.begin().text("record", record).text("problem", "candidates are not selected and omitted together").end()...)
	}
	one.b = append(one.b, ']')
	o.b = append(o.b, one.time("checked_at", b.header.Created).end()...)
	for _, check := range readerChecks {
		var left object
		left.begin().text("verification_id", b.header.ID+"."+check).text("check_type", check).text("status", "skipped")
		if b.tally.redactions+b.tally.withheld > 0 {
			var partial object
			left.raw("coverage", []byte("["+string(partial.begin().text("what", "content").text("status", "partial").count("redactions", b.tally.redactions).
				count("expired", b.tally.erased).count("withheld", b.tally.withheld).end())+"]"))
		}
		left.raw("issues", []byte("[]")).text("notes", "for the reader: ctxledger evidence verify")
		o.b = append(append(o.b, ',', '\n'), left.end()...)
	}
	o.b = append(o.b, '\n', ']')
	return append(o.raw("reviews", []byte("[]")).end(), '\n')
}
