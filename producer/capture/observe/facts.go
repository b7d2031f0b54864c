package observe

import (
	"cmp"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
)

// maxRefs is the largest number of references in one fact.
const maxRefs = 400

// maxBlocks is the largest number of blocks in one assembly event.
const maxBlocks = 160

// maxInline is the size of a text that certainly does not fit into an event.
const maxInline = schema.MaxEventBytes

// items records the blocks that the session has not seen.
func (o *observation) items(list []seen) {
	for i := range list {
		b := &list[i]
		key := hashOf(b.Item)
		if _, known := o.s.Items[key]; known || b.from == nil {
			continue
		}
		o.s.Items[key] = b.Sum
		size := int64(len(b.from.Raw))
		item := schema.Item{
			ItemID: b.Item, ContextKind: b.Kind, Layer: string(b.Layer), Role: b.Role, Title: o.title(b.from),
			ContentMode: schema.ContentOpaque, ByteSize: &size, TokenEstimate: b.tokens(), Estimator: b.estimator,
		}
		var large []byte
		if b.from.Readable() {
			size = int64(len(b.from.Text))
			item.ContentMode = schema.ContentRef
			item.ContentRef = ownRef(b.Item)
			if o.r.Content != nil {
				item.ContentDigest = o.r.Content(b.from.Text)
			}
			if o.c.StoreText && o.c.LargeText && item.ContentDigest != "" && len(b.from.Text) > 0 {
				item.ContentRef, large = schema.TextRef(item.ContentDigest), b.from.Text
			}
		}
		f := o.add(&schema.ItemAdded{Item: item}, b.Item)
		f.IDs.ToolCallID, f.Large = b.Tool, large
		if o.c.StoreText && b.from.Readable() && len(b.from.Text) > 0 && len(b.from.Text) < maxInline {
			f.Reduced = f.Fact
			item.ContentMode, item.Content, item.ContentRef = schema.ContentInline, string(b.from.Text), ""
			f.Fact = &schema.ItemAdded{Item: item}
		}
	}
}

// title returns the title of a block. A result has the title of its call, which the request has, too.
func (o *observation) title(b *dialect.Block) (own string) {
	m := o.c.Titles
	switch {
	case m == nil || !b.Readable():
	case b.Kind == "user_message":
		own = m.Prompt(string(b.Text))
	case b.Kind == "tool_call":
		own = m.Call(b.Name, string(b.Text), "")
	case b.Kind == "tool_result" && b.ID != "":
		for i := range o.x.Request.Blocks {
			if call := &o.x.Request.Blocks[i]; call.Kind == "tool_call" && call.ID == b.ID && call.Readable() {
				own = m.Call(call.Name, string(call.Text), "")
			}
		}
	}
	return cmp.Or(own, b.Name)
}

// assembly records the window: whole, or what follows the blocks that it shares with the
// thread's last window.
func (o *observation) assembly(complete bool) {
	t := o.t
	fact := schema.AssemblyCreated{AssemblyID: assemblyOf(o.call), CallID: o.call, Target: "model"}
	fact.Fidelity, fact.Coverage, fact.CoverageReasons = o.c.knowledge(complete)
	from := 0
	if keep := min(o.change.keep, len(o.now)-1); t.Last != "" && keep > 0 && t.Chain+1 < schema.MaxAssemblyChain {
		n := int64(keep)
		fact.BaseAssemblyID, fact.Keep, from = t.Last, &n, keep
		t.Chain++
	} else {
		t.Chain = 0
	}
	blocks := make([]schema.Block, 0, len(o.now)-from)
	for i := from; i < len(o.now); i++ {
		b := &o.now[i]
		at := int64(i)
		blocks = append(blocks, schema.Block{
			Block: b.Kind, ItemRefs: []schema.Ref{schema.Ref(b.Item)}, Position: &at, Layer: string(b.Layer), Role: b.Role,
			Tokens: b.tokens(), EqualityDigest: b.Digest,
		})
	}
	parts := (len(blocks) + maxBlocks - 1) / maxBlocks
	for part := range parts {
		one := fact
		one.OrderedBlocks = blocks[part*maxBlocks : min((part+1)*maxBlocks, len(blocks))]
		one.Metadata = partOf(part, parts)
		o.add(&one, assemblyOf(o.call), strconv.Itoa(part))
	}
	t.Last = assemblyOf(o.call)
}

// partOf returns the metadata of a part, nil for a fact in one event.
func partOf(part, parts int) map[string]any {
	if parts < 2 {
		return nil
	}
	return map[string]any{"part": part + 1, "parts": parts}
}

func assemblyOf(call string) string { return call + ":window" }

// knowledge says how the call is known, and how much of it.
func (c *Call) knowledge(complete bool) (schema.Fidelity, schema.Coverage, []string) {
	reasons := c.Partial
	if !complete {
		reasons = append(reasons[:len(reasons):len(reasons)], string(schema.PartialPrevious))
	}
	if len(reasons) > 0 {
		return c.Fidelity, schema.CoveragePartial, reasons
	}
	return c.Fidelity, schema.CoverageComplete, nil
}

// points are the places of a request in which blocks become visible, with their kinds.
var points = [...]struct {
	point schema.InjectionPoint
	kind  string
	of    func(l dialect.Layer) bool
}{
	{schema.InjectSystemPrompt, "system", func(l dialect.Layer) bool { return l == dialect.LayerSystem }},
	{schema.InjectCustom, "tools", func(l dialect.Layer) bool { return l == dialect.LayerTools }},
	{schema.InjectMessageHistory, "reminder", func(l dialect.Layer) bool { return l == dialect.LayerInjected }},
	{schema.InjectMessageHistory, "messages", func(l dialect.Layer) bool {
		return l != dialect.LayerSystem && l != dialect.LayerTools && l != dialect.LayerInjected
	}},
}

// injections records the blocks that became visible, by their place.
func (o *observation) injections() {
	had := make(map[uint64]int)
	for i := o.change.keep; i < len(o.t.Blocks); i++ {
		had[o.t.Blocks[i].Sum]++
	}
	for _, p := range points {
		var refs []schema.Ref
		var tokens int64
		known := true
		for i := o.change.keep; i < len(o.now); i++ {
			b := &o.now[i]
			if !p.of(b.Layer) {
				continue
			}
			if had[b.Sum] > 0 {
				had[b.Sum]--
				continue
			}
			refs = append(refs, schema.Ref(b.Item))
			tokens, known = tokens+max(b.Tokens, 0), known && b.Tokens >= 0
		}
		for part := 0; part*maxRefs < len(refs); part++ {
			fact := &schema.InjectionApplied{}
			fact.InjectionID = o.call + ":" + p.kind + ":" + strconv.Itoa(part)
			fact.CallID, fact.AssemblyID, fact.Target = o.call, assemblyOf(o.call), "model"
			fact.InjectionPoint, fact.InjectionKind = p.point, p.kind
			fact.ItemRefs = refs[part*maxRefs : min((part+1)*maxRefs, len(refs))]
			if known && len(refs) <= maxRefs {
				fact.Tokens = &tokens
			}
			o.add(fact, fact.InjectionID)
		}
	}
}

// changes records elisions, a compaction and removals.
func (o *observation) changes() {
	if list := o.elided(o.change.shortened); len(list) > 0 {
		for part, chunk := range chunks(list) {
			fact := &schema.ElisionApplied{}
			fact.PassID, fact.CallID, fact.ElidedItemRefs = passID(o.call, "elision", part), o.call, chunk
			fact.FirstChangedPosition = sumOf(o.t.Blocks[:o.change.keep])
			o.add(fact, fact.PassID)
		}
	}
	if list := o.elided(o.change.restored); len(list) > 0 {
		for part, chunk := range chunks(list) {
			fact := &schema.ElisionReloaded{}
			fact.PassID, fact.CallID, fact.ElidedItemRefs = passID(o.call, "reload", part), o.call, chunk
			o.add(fact, fact.PassID)
		}
	}
	if o.change.compacted {
		o.compaction()
		return
	}
	refs := o.change.leftRefs(o.t.Blocks)
	for part := 0; part*maxRefs < len(refs); part++ {
		fact := &schema.InjectionRemoved{}
		fact.InjectionID, fact.CallID, fact.Target = passID(o.call, "removal", part), o.call, "model"
		fact.ItemRefs = refs[part*maxRefs : min((part+1)*maxRefs, len(refs))]
		o.add(fact, fact.InjectionID)
	}
}

func passID(call, kind string, part int) string {
	return call + ":" + kind + ":" + strconv.Itoa(part)
}

func (c *change) leftRefs(blocks []block) []schema.Ref {
	refs := make([]schema.Ref, len(c.left))
	for i, at := range c.left {
		refs[i] = schema.Ref(blocks[at].Item)
	}
	return refs
}

func (o *observation) elided(pairs [][2]int) []schema.Elided {
	list := make([]schema.Elided, len(pairs))
	for i, p := range pairs {
		old, now := &o.t.Blocks[p[0]], &o.now[p[1]]
		list[i] = schema.Elided{
			ItemRef: schema.Ref(old.Item), ToolCallID: old.Tool, TokensBefore: old.tokens(), TokensAfter: now.tokens(),
		}
		if o.r.Content != nil && now.from != nil && now.from.Readable() {
			list[i].StubDigest = o.r.Content(now.from.Text)
		}
	}
	return list
}

// chunks divides a list into parts that an event can hold.
func chunks(list []schema.Elided) (out [][]schema.Elided) {
	const most = 150
	for ; len(list) > most; list = list[most:] {
		out = append(out, list[:most])
	}
	return append(out, list)
}

// sumOf returns the tokens of blocks, nil if the tokens of one are unknown.
func sumOf(blocks []block) *int64 {
	var sum int64
	for i := range blocks {
		if blocks[i].Tokens < 0 {
			return nil
		}
		sum += blocks[i].Tokens
	}
	return &sum
}

// compaction records the summary that replaced the blocks that left.
func (o *observation) compaction() {
	c := o.change
	text := &o.now[c.summary.at]
	refs := o.change.leftRefs(o.t.Blocks)
	var left []block
	for _, at := range c.left {
		left = append(left, o.t.Blocks[at])
	}
	count := int64(len(refs))
	source := &schema.SourceWindow{
		ThreadID: o.t.ID, FirstItemRef: refs[0], LastItemRef: refs[count-1], ItemCount: &count, Tokens: sumOf(left),
	}
	listed := make([]schema.Ref, 0, min(len(refs), maxRefs))
	for _, ref := range refs[:min(len(refs), maxRefs)] {
		if string(ref) != text.Item {
			listed = append(listed, ref)
		}
	}
	fact := &schema.CompactionCompleted{}
	fact.CompactionID, fact.CallID, fact.Scope = passID(o.call, "compaction", 0), o.call, string(schema.ScopeSession)
	fact.SourceItemRefs, fact.SourceWindow, fact.SummaryRef = listed, source, schema.Ref(text.Item)
	fact.Method, fact.SummarizerCallID = schema.MethodAbstractiveSummary, c.summary.answer.Call
	fact.Validation = map[string]any{"proof": c.summary.proof}
	fact.ReplacementPolicy = "replace_window"
	fact.TokensBefore = sumOf(o.t.Blocks)
	fact.TokensAfter = sumOf(blocksOf(o.now))
	o.add(fact, fact.CompactionID)
	if len(listed) == 0 {
		return
	}
	made := &schema.SummaryCreated{}
	made.SummaryID, made.SummaryKind, made.SourceItemRefs = text.Item, "thread_summary", listed
	made.Tokens, made.SummarizerCallID = text.tokens(), c.summary.answer.Call
	if o.r.Content != nil {
		made.ContentDigest = o.r.Content(text.from.Text)
	}
	o.add(made, text.Item, o.call)
}

func blocksOf(list []seen) []block {
	out := make([]block, len(list))
	for i := range list {
		out[i] = list[i].block
	}
	return out
}
