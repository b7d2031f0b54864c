package document

import (
	"github.com/go-json-experiment/json"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// relate adds nodes and edges for the things that a fact made and used.
func relate(b *Builder, e *schema.Event, fact schema.Fact) {
	relateScope(b, fact)
	relateChoice(b, e, fact)
	relatePlacement(b, fact)
	relateReplacement(b, fact)
	relateRest(b, fact)
	base := fact.Base()
	b.uses(policyKind, base.PolicyRefs...)
	b.uses(evidenceKind, base.EvidenceRefs...)
}

// relateScope adds runs, grants and resources.
func relateScope(b *Builder, fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.ScopeOpened:
		run := b.thing(runKind, f.RunID, nil)
		if f.ParentRunID != "" {
			b.edge(run, b.thing(runKind, f.ParentRunID, nil), "associated_with")
		}
	case *schema.GrantIssued, *schema.GrantNarrowed, *schema.GrantDenied:
		b.makes(grantKind, fact.RecordID(), nil)
	case *schema.ResourceResolved:
		b.makes(resourceKind, f.BindingID, nil)
	case *schema.ResourceAccessed:
		b.uses(resourceKind, schema.Ref(f.BindingID))
	case *schema.ScratchpadLoaded, *schema.ScratchpadWritten:
		b.makes(scratchpadKind, fact.RecordID(), nil)
	}
}

// relateChoice adds candidates and decisions.
func relateChoice(b *Builder, e *schema.Event, fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.SurfaceCreated:
		relateSurface(b, &f.Surface)
	case *schema.SurfaceUpdated:
		relateSurface(b, &f.Surface)
	case *schema.ItemAdded:
		relateItem(b, &f.Item)
	case *schema.ItemUpdated:
		relateItem(b, &f.Item)
	case *schema.ItemRemoved:
		b.uses(itemKind, schema.Ref(f.ItemID))
	case *schema.LogAppended:
		entry := b.makes(logKind, f.LogItemID, nil)
		b.derives(entry, itemKind, f.ItemRef)
		b.uses(logKind, f.ParentRef)
	case *schema.SelectionStarted:
		b.makes(selectionKind, f.SelectionID, nil)
		b.uses(surfaceKind, schema.Ref(f.SurfaceID))
		b.uses(itemKind, f.Candidates...)
	case *schema.SelectionCompleted:
		relateSelection(b, e, f)
	case *schema.BudgetApplied:
		b.makes(budgetKind, f.BudgetID, nil)
		for i := range f.TruncationRecords {
			b.uses(itemKind, f.TruncationRecords[i].ItemRef)
		}
	}
}

func relateSurface(b *Builder, s *schema.Surface) {
	b.makes(surfaceKind, s.SurfaceID, nil)
	b.uses(itemKind, s.AvailableItemRefs...)
	b.uses(sourceKind, s.AvailableSourceRefs...)
	b.uses(capabilityKind, s.CapabilityRefs...)
}

func relateSelection(b *Builder, e *schema.Event, f *schema.SelectionCompleted) {
	selection := b.makes(selectionKind, f.SelectionID, nil)
	b.uses(surfaceKind, schema.Ref(f.SurfaceID))
	b.uses(itemKind, f.Candidates...)
	for i := range f.Selected {
		b.uses(itemKind, f.Selected[i].ItemRef)
	}
	for i := range f.Omitted {
		c := &f.Omitted[i]
		b.uses(itemKind, c.ItemRef)
		item := b.thing(itemKind, c.ItemRef.ID(), nil)
		b.tally.omissions++
		b.add(omissions, b.line.begin().text("source_id", item).text("reason", omissionReason(c.Reason)).text("context_reason", string(c.Reason)).
			time("observed_at", e.Time).text("decision_ref", selection).end())
	}
	b.uses(policyKind, f.Policy)
	b.uses(budgetKind, f.BudgetRef)
}

// relateItem adds an item and the origin of its content.
func relateItem(b *Builder, i *schema.Item) {
	item := b.makes(itemKind, i.ItemID, func(o *object) { describeItem(o, i) })
	for j := range i.SourceRefs {
		s := &i.SourceRefs[j]
		id := s.SourceID
		if id == "" {
			id = s.URI
		}
		if id == "" {
			continue
		}
		source := b.thing(sourceKind, id, func(o *object) { describeSource(o, s) })
		b.stands(source, defined)
		b.edge(item, source, "derived_from")
	}
}

// describeItem adds the first fact's description of an item to its entry.
func describeItem(o *object, i *schema.Item) {
	if i.Freshness != nil {
		o.raw("freshness", objectOf("state", i.Freshness))
	}
	if i.TrustLevel != "" {
		o.open("trust").text("level", i.TrustLevel)
		o.shut()
	}
	if i.Sensitivity != "" || i.RedactionState != "" {
		o.open("privacy").text("sensitivity", i.Sensitivity).text("redaction_state", string(i.RedactionState))
		o.shut()
	}
}

// objectOf returns the JSON of a value that is an object. Any other value is wrapped in an object,
// under name.
func objectOf(name string, value any) []byte {
	if _, isObject := value.(map[string]any); !isObject {
		value = map[string]any{name: value}
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return []byte("{}") // a number that JSON cannot represent; cannot happen, because the value came from JSON
	}
	return text
}

func describeSource(o *object, s *schema.SourceRef) {
	word := s.SourceKind
	if word == "" {
		word = "unknown"
	}
	o.text("source_kind", word).text("uri", s.URI)
	if s.RetrievedAt != nil || s.ModifiedAt != nil {
		o.open("retrieval").time("retrieved_at", at(s.RetrievedAt)).time("modified_at", at(s.ModifiedAt))
		o.shut()
	}
	if s.Authority != "" || s.Digest != "" {
		o.open("trust").text("authority", s.Authority).text("digest", s.Digest)
		o.shut()
	}
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// relatePlacement adds windows and visible items.
func relatePlacement(b *Builder, fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.AssemblyCreated:
		assembly := b.makes(assemblyKind, f.AssemblyID, nil)
		for i := range f.OrderedBlocks {
			b.derives(assembly, itemKind, f.OrderedBlocks[i].ItemRefs...)
		}
		if b.rules() >= 3 && b.whole != nil && f.BaseAssemblyID != "" {
			b.derives(assembly, assemblyKind, schema.Ref(f.BaseAssemblyID))
			for _, kept := range b.whole.blocks[:len(b.whole.blocks)-len(b.whole.own)] {
				b.derives(assembly, itemKind, kept.items...)
			}
		}
		b.derives(assembly, itemKind, f.SourceItemRefs...)
		b.uses(budgetKind, f.BudgetRef)
		b.tally.assemblies++
		b.add(snapshots, b.line.begin().text("ref_id", assembly).text("kind", things[assemblyKind].word).
			text("uri", things[assemblyKind].file+"#"+f.AssemblyID).text("record", b.node).end())
	case *schema.InjectionApplied:
		relateInjection(b, &f.Injection)
	case *schema.InjectionRemoved:
		b.uses(injectionKind, schema.Ref(f.InjectionID))
	case *schema.UsageRecorded:
		b.makes(usageKind, f.CallID, nil)
		b.uses(assemblyKind, schema.Ref(f.AssemblyID))
	}
}

func relateInjection(b *Builder, f *schema.Injection) {
	injection := b.makes(injectionKind, f.InjectionID, nil)
	if f.AssemblyID != "" {
		b.derives(injection, assemblyKind, schema.Ref(f.AssemblyID))
	}
	b.derives(injection, itemKind, f.ItemRefs...)
	b.uses(itemKind, f.CueItemRef)
}

// relateReplacement adds shortening, summaries, redactions and erasures.
func relateReplacement(b *Builder, fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.ElisionApplied:
		relateElision(b, &f.Elision)
	case *schema.ElisionReloaded:
		relateElision(b, &f.Elision)
	case *schema.CompactionStarted:
		relateCompaction(b, &f.Compaction, false)
	case *schema.CompactionCompleted:
		relateCompaction(b, &f.Compaction, true)
	case *schema.CompactionFailed:
		relateCompaction(b, &f.Compaction, false)
	case *schema.CompactionDiscarded:
		relateCompaction(b, &f.Compaction, false)
	case *schema.SummaryCreated:
		b.derivesEntries(b.makes(summaryKind, f.SummaryID, nil), f.SourceItemRefs)
	case *schema.SummaryRefreshed:
		b.derivesEntries(b.makes(summaryKind, f.SummaryID, nil), f.SourceItemRefs)
	case *schema.RedactionApplied:
		redaction := b.makes(redactKind, f.RedactionID, nil)
		target := b.target(f.TargetRef)
		b.edge(redaction, target, "redacted_from")
		if f.ReplacementRef != "" {
			b.edge(b.thing(itemKind, f.ReplacementRef.ID(), nil), target, "redacted_from")
		}
		if f.ActorRef != "" {
			b.edge(redaction, b.thing(actorKind, f.ActorRef.ID(), nil), "attributed_to")
		}
	case *schema.RedactionRevoked:
		b.uses(redactKind, schema.Ref(f.RedactionID))
	case *schema.ErasureApplied:
		relateErasure(b, f)
	}
}

// target returns the target of a redaction: an item, unless the reference names another kind.
func (b *Builder) target(ref schema.Ref) string {
	k := kind(ref.Kind())
	if _, known := things[k]; b.rules() < 2 || !known {
		k = itemKind
	}
	return b.thing(k, ref.ID(), nil)
}

// relateErasure adds an erasure, and keeps the items of the session that it erased.
func relateErasure(b *Builder, f *schema.ErasureApplied) {
	b.makes(erasureKind, f.ErasureID, nil)
	for i := range f.Records {
		if r := &f.Records[i]; r.ItemID != "" && r.SessionID == b.header.Scope.Session {
			b.taken = append(b.taken, takenItem{r.ItemID, f.ErasureID})
		}
	}
}

// takenItem is an item with an erased version.
type takenItem struct{ item, erasure string }

// expireItems marks the content of items as expired if only erased facts described them.
// expireItems runs at the end, because facts that name an item can be in a later log.
func expireItems(b *Builder) {
	for _, t := range b.taken {
		id, erasure := evidenceID(itemKind, t.item), evidenceID(erasureKind, t.erasure)
		if b.known(id) != named {
			continue
		}
		b.stands(id, defined) // by the erased facts
		b.edge(id, erasure, "redacted_from")
		expireItem(b, id, erasure)
	}
}

// expireItem adds erased content to the redactions.
func expireItem(b *Builder, target, erasure string) {
	b.tally.redactions++
	b.add(redactions, b.line.begin().text("redaction_id", "expired-"+target).text("target_ref", target).text("redaction_kind", kindExpired).
		text("reason", "erasure").text("applied_by", erasure).end())
}

func relateElision(b *Builder, f *schema.Elision) {
	b.makes(elisionKind, f.PassID, nil)
	for i := range f.ElidedItemRefs {
		b.uses(itemKind, f.ElidedItemRefs[i].ItemRef)
	}
}

// relateCompaction adds a compaction. The summary replaces its sources only if the compaction was
// completed.
func relateCompaction(b *Builder, f *schema.Compaction, completed bool) {
	compaction := b.makes(compactionKind, f.CompactionID, nil)
	b.derivesEntries(compaction, f.SourceItemRefs)
	if !completed || f.SummaryRef == "" {
		return
	}
	summary := b.thing(summaryKind, f.SummaryRef.ID(), nil)
	b.edge(summary, compaction, "derived_from")
	b.derivesEntries(summary, f.SourceItemRefs)
}

// relateRest adds gaps, seals and facts of the ledger about itself.
func relateRest(b *Builder, fact schema.Fact) {
	switch f := fact.(type) {
	case *schema.PressureApplied:
		b.makes(pressureKind, f.PressureID, nil)
		b.uses(itemKind, f.ItemRefs...)
	case *schema.MissingDetected:
		relateGap(b, &f.Missing)
	case *schema.MissingRequested:
		relateGap(b, &f.Missing)
	case *schema.MissingResolved:
		relateGap(b, &f.Missing)
	case *schema.EnvelopeCreated:
		relateEnvelope(b, f)
	case *schema.Exported:
		b.makes(packKind, f.PackID, nil)
	case *schema.FactsDropped:
		b.tally.drops++
		b.makes(dropKind, f.DropID, nil)
	}
}

func relateGap(b *Builder, f *schema.Missing) {
	b.makes(missingKind, f.MissingID, nil)
	b.uses(itemKind, f.CandidateItemRefs...)
	b.uses(referenceKind, f.ResolutionRefs...)
}

func relateEnvelope(b *Builder, f *schema.EnvelopeCreated) {
	envelope := b.makes(envelopeKind, f.ContextID, nil)
	if len(f.Sequences) > 0 {
		b.tally.seals++
	}
	for _, refs := range []struct {
		kind kind
		list []schema.Ref
	}{
		{surfaceKind, f.SurfaceRefs}, {itemKind, f.ItemRefs}, {selectionKind, f.SelectionRefs}, {budgetKind, []schema.Ref{f.BudgetRef}},
		{assemblyKind, f.AssemblyRefs}, {injectionKind, f.InjectionRefs}, {compactionKind, f.CompactionRefs}, {missingKind, f.MissingContextRefs},
		{referenceKind, f.RuntimeRefs},
	} {
		b.derives(envelope, refs.kind, refs.list...)
	}
	for _, actor := range f.ActorRefs {
		b.edge(envelope, b.thing(actorKind, actor.ID(), nil), "attributed_to")
	}
	b.add(snapshots, b.line.begin().text("ref_id", envelope).text("kind", things[envelopeKind].word).
		text("uri", things[envelopeKind].file+"#"+f.ContextID).text("record", b.node).end())
}
