package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Block is a row of the query window, and its fields are documented there.
type Block struct {
	Call           string   `ch:"call_id"`
	Position       int64    `ch:"position"`
	Layer          string   `ch:"layer"`
	Role           string   `ch:"role"`
	Type           string   `ch:"item_type"`
	Name           string   `ch:"name"`
	Title          string   `ch:"title"`
	Tokens         *int64   `ch:"tokens"`
	Full           *int64   `ch:"tokens_full"`
	Elided         bool     `ch:"elided"`
	ElidedBy       string   `ch:"elided_by"`
	RedactionState string   `ch:"redaction_state"`
	Items          []string `ch:"item_refs"`
	ToolCall       string   `ch:"tool_call_id"`
	Origin         string   `ch:"origin"`
	Injected       *bool    `ch:"injected"`
	Assembly       string   `ch:"assembly_id"`
	Target         string   `ch:"target"`
	New            *bool    `ch:"is_new"`
	ElidedLevel    string   `ch:"elided_level"`
	Reload         string   `ch:"reload_ref"`
	Digest         string   `ch:"digest"`
	Block          string   `ch:"block"`
	Thread         string   `ch:"thread_id"`
	PreviousTurn   string   `ch:"previous_turn_id"`
	PreviousCall   string   `ch:"previous_call_id"`
	Persona        string   `ch:"persona"`
	Fidelity       string   `ch:"fidelity"`
	Coverage       string   `ch:"coverage"`
	Reasons        []string `ch:"coverage_reasons"`
}

// Window answers as the queries window and call-size do, with the arguments of the
// first. The size is nil where there is no window or it is of no call.
func Window(ctx context.Context, l *ledger.Ledger, arguments map[string]string) ([]Block, *Size, error) {
	r, err := newReader(l, "window", arguments)
	if err != nil {
		return nil, nil, err
	}
	return r.window(ctx, true)
}

// window answers as Window does, without the size unless it is wanted.
func (r reader) window(ctx context.Context, sized bool) ([]Block, *Size, error) {
	var usage []callRow
	var made []assemblyRow
	var retold tellings
	if err := together(into(ctx, r, &usage, "calls"), into(ctx, r, &made, "assemblies"), into(ctx, r, (*[]told)(&retold), "retold")); err != nil {
		return nil, nil, err
	}
	made, usage = without(retold, made), retold.calls(usage, r.given["call_id"])
	c, before := choose(usage, made, r.given["turn_id"], r.given["call_id"], r.given["attempt_id"])
	if c.tenant == "" {
		return nil, nil, nil
	}
	w := window{call: c, before: before}
	own, earlier := chains(made, c.attempt, c.assemblies), chains(made, before.attempt, before.assemblies)
	var s size
	r = r.with("tenant", c.tenant, "thread_id", c.thread, "attempt_id", c.attempt, "call_id", c.call, "retold", retold.of(c.tenant))
	reads := []func() error{
		into(ctx, r, &w.replaced, "replacements"), into(ctx, r, &w.items, "items"), into(ctx, r, &w.erasures, "erasures"),
		into(ctx, r.with("assemblies", chsql.Texts(slices.Concat(membersOf(c.assemblies, own), membersOf(before.assemblies, earlier))).String()), &w.placed, "placements"),
	}
	if len(c.assemblies) == 0 && c.first != nil && c.next != nil {
		reads = append(reads, into(ctx, r.with("first", fmt.Sprint(*c.first), "next", fmt.Sprint(*c.next)), &w.log, "log"))
	}
	if sized = sized && c.call != ""; sized {
		reads = append(reads, into(ctx, r, &s.budgets, "budgets"), into(ctx, r, &s.selections, "selections"), into(ctx, r, &s.redactions, "redactions"))
	}
	if err := together(reads...); err != nil {
		return nil, nil, err
	}
	w.made, w.had = expanded(w.placed, c.attempt, c.assemblies, own), expanded(w.placed, before.attempt, before.assemblies, earlier)
	expired, err := erased(w.erasures, r.given["session_id"])
	if err != nil {
		return nil, nil, err
	}
	blocks := w.blocks(w.drafts(), w.known(expired))
	if len(blocks) == 0 || !sized {
		return blocks, nil, nil
	}
	for _, u := range usage {
		if schema.TenantOf(u.Tenant) == c.tenant && u.Attempt == c.attempt && u.Call == c.call {
			s.usage = append(s.usage, u)
		}
	}
	return blocks, new(s.reckon()), nil
}

// window holds the rows of the blocks.
type window struct {
	call, before call
	replaced     []replacedRow
	placed       []placedRow
	made, had    []wholeRow // the assemblies of the call, and of the one before, with all of their blocks
	log          []logRow
	items        []itemRow
	erasures     []erasureRow
}

// replacedRow is an elision pass, or a compaction, of the thread.
type replacedRow struct {
	sequenced
	Kind     string   `ch:"record_kind"`
	Change   string   `ch:"change"`
	Thread   string   `ch:"thread_id"`
	Source   string   `ch:"source_thread_id"`
	Record   string   `ch:"record_id"`
	Level    string   `ch:"level"`
	Refs     []string `ch:"elided_refs"`
	Tools    []string `ch:"elided_tool_call_ids"`
	Before   []*int64 `ch:"elided_before"`
	After    []*int64 `ch:"elided_after"`
	Levels   []string `ch:"elided_levels"`
	Reload   []string `ch:"elided_reload_refs"`
	First    *int64   `ch:"first_position"`
	Last     *int64   `ch:"last_position"`
	Retained []string `ch:"retained_tail_refs"`
	Attempt  string   `ch:"attempt_id"`
}

// of reports whether the row is of the attempt, or of none.
func (r replacedRow) of(attempt string) bool { return r.Attempt == "" || r.Attempt == attempt }

// applied reports whether it elided something and did not read it again.
func (r replacedRow) applied() bool { return r.Change == "applied" }

// compacts reports whether it is a compaction of a thread's log that came to its end.
func (r replacedRow) compacts(thread string) bool {
	return r.Kind == "compaction" && r.Change == "completed" && cmp.Or(r.Source, r.Thread) == thread
}

// covers reports whether a compaction's stretch of the log has the position.
func (r replacedRow) covers(position int64) bool {
	return (r.First == nil || *r.First <= position) && r.Last != nil && position <= *r.Last
}

// placedRow is an assembly, or a part of one, or an injection.
type placedRow struct {
	sequenced
	based
	knownAs
	placedBlocks
	Kind     string   `ch:"record_kind"`
	Attempt  string   `ch:"attempt_id"`
	Call     string   `ch:"call_id"`
	Target   string   `ch:"target"`
	Assembly string   `ch:"assembly_id"`
	Metadata string   `ch:"metadata"`
	Tool     string   `ch:"tool_call_id"`
	Injected string   `ch:"injection_kind"`
	Persona  string   `ch:"persona_to"`
	ItemRefs []string `ch:"item_refs"`
	Thread   string   `ch:"thread_id"`
}

// placedBlocks are the blocks of an assembly, in parallel.
type placedBlocks struct {
	Blocks     []string   `ch:"blocks"`
	Items      [][]string `ch:"block_items"`
	Positions  []*int64   `ch:"block_positions"`
	Layers     []string   `ch:"block_layers"`
	Roles      []string   `ch:"block_roles"`
	Tokens     []*int64   `ch:"block_tokens"`
	Digests    []string   `ch:"block_digests"`
	Redactions []string   `ch:"block_redactions"`
}

// personaOf reports whether the row gives the model a persona, in the thread and attempt of the
// call. The injection names the call or its assembly, or precedes the call.
func (p placedRow) personaOf(c call) bool {
	return p.Kind == "injection" && p.Persona != "" && p.Injected != "persona_cue" && p.Thread == c.thread && (p.Attempt == "" || p.Attempt == c.attempt) &&
		(p.place() <= c.place || p.Call != "" && p.Call == c.call || slices.Contains(c.assemblies, p.Assembly))
}

// key tells a block from others across assemblies: its digest, else its items, else
// its name.
func (p placedRow) key(i int) string {
	return cmp.Or(p.Digests[i], strings.Join(p.Items[i], " "), p.Blocks[i])
}

type logRow struct {
	Position int64  `ch:"position"`
	ID       string `ch:"log_item_id"`
	Role     string `ch:"role"`
	Type     string `ch:"item_type"`
	Name     string `ch:"name"`
	Item     string `ch:"item_ref"`
	Tokens   *int64 `ch:"tokens"`
	Digest   string `ch:"content_digest"`
	Tool     string `ch:"tool_call_id"`
	Attempt  string `ch:"attempt_id"`
}

type itemRow struct {
	sequenced
	ID        string `ch:"item_id"`
	Title     string `ch:"title"`
	Layer     string `ch:"layer"`
	Tokens    *int64 `ch:"token_estimate"`
	Redaction string `ch:"redaction_state"`
}

// draft is an unfinished block, with the values that give its place.
type draft struct {
	Block
	order, place int64  // of its assembly or call in the thread, and of itself
	key          string // that the call before may have had
}

// lastPlace is that of a block without a position: behind the others.
const lastPlace = 1_000_000_000

// drafts are the blocks of the window, in order of assembly and place.
func (w *window) drafts() []draft {
	var drafts []draft
	if len(w.call.assemblies) > 0 {
		drafts = w.assembled()
	} else {
		drafts = w.logged()
	}
	slices.SortStableFunc(drafts, func(a, b draft) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Assembly, b.Assembly), cmp.Compare(a.place, b.place))
	})
	return drafts
}

// blocks puts the window together, in order of target and position.
func (w *window) blocks(drafts []draft, known items) []Block {
	passes, personas := w.passes(), w.personas()
	var position int64
	var blocks []Block
	for i, d := range drafts {
		if i > 0 && (d.Target != drafts[i-1].Target || d.Assembly != drafts[i-1].Assembly) {
			position = 0
		}
		b := d.Block
		b.Position, b.Thread, b.PreviousTurn, b.PreviousCall = position, w.call.thread, w.before.turn, w.before.call
		item := known[at(b.Items, 1)]
		b.Title, b.RedactionState, b.Full = item.Title, cmp.Or(b.RedactionState, item.Redaction), b.Tokens
		b.Layer = cmp.Or(b.Layer, item.Layer, layerOf[b.Type], b.Role)
		elide(&b, passes, d.order, item)
		if i := slices.IndexFunc(personas, func(p placedRow) bool { return intersect(p.ItemRefs, b.Items) }); i >= 0 {
			b.Persona = personas[i].Persona
		}
		blocks = append(blocks, b)
		position++
	}
	slices.SortStableFunc(blocks, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Position, b.Position))
	})
	return blocks
}

// layerOf is the layer of a log entry, by its kind.
var layerOf = map[string]string{"function_call": "tool_calls", "function_call_output": "tool_results", "reasoning": "reasoning"}

// assembled are the blocks that the runtime assembled.
func (w *window) assembled() (drafts []draft) {
	had, hadItems, shown := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, p := range w.placed {
		if p.Kind == "injection" {
			shown[p.Assembly] = shown[p.Assembly] || p.Attempt == w.call.attempt
		}
	}
	for _, p := range w.had {
		for i := range p.Blocks {
			had[p.key(i)] = true
			for _, item := range p.Items[i] {
				hadItems[item] = true
			}
		}
	}
	for _, p := range w.made {
		for i, name := range p.Blocks {
			d := draft{order: p.place(), place: lastPlace, key: p.key(i), Block: Block{
				Call: p.Call, Layer: p.Layers[i], Role: p.Roles[i], Tokens: p.Tokens[i], RedactionState: p.Redactions[i], Items: p.Items[i], ToolCall: p.Tool,
				Origin: "assembly", Injected: new(shown[p.Assembly]), Assembly: p.Assembly, Target: p.Target, Digest: p.Digests[i], Block: name,
			}}
			p.describe(&d.Block, p.lacking)
			if p.Positions[i] != nil {
				d.place = *p.Positions[i]
			}
			if len(had) > 0 {
				d.New = new(!had[d.key] && !slices.ContainsFunc(d.Items, func(item string) bool { return hadItems[item] }))
			}
			drafts = append(drafts, d)
		}
	}
	return drafts
}

// logged are the log entries of the call's window. Entries that a summary replaced are left
// out, and entries of another attempt if this one has its own.
func (w *window) logged() (drafts []draft) {
	own := make(map[int64]bool) // positions that the attempt wrote itself
	for _, e := range w.log {
		own[e.Position] = own[e.Position] || e.Attempt == w.call.attempt
	}
	for _, e := range w.log {
		item := cmp.Or(e.Item, e.ID)
		if own[e.Position] && e.Attempt != w.call.attempt || slices.ContainsFunc(w.replaced, func(r replacedRow) bool {
			return r.compacts(w.call.thread) && r.of(w.call.attempt) && r.place() < w.call.place && r.covers(e.Position) && !slices.Contains(r.Retained, item)
		}) {
			continue
		}
		d := draft{order: w.call.place, place: e.Position, Block: Block{
			Call: w.call.call, Role: e.Role, Type: e.Type, Name: e.Name, Tokens: e.Tokens, Items: []string{item}, ToolCall: e.Tool, Origin: "log", Digest: e.Digest, Block: e.ID,
		}}
		w.call.describe(&d.Block, false)
		if next, first := w.before.next, w.before.first; next != nil && *next > 0 {
			if e.Position >= *next {
				d.New = new(true)
			} else if first != nil {
				d.New = new(e.Position < *first)
			}
		}
		drafts = append(drafts, d)
	}
	return drafts
}

// items are the facts about items, by their ids.
type items map[string]itemRow

// known is the last version of each item, or its expiry if nothing else is left.
func (w *window) known(expired []expiry) items {
	known := make(items, len(w.items))
	for _, row := range w.items {
		if old, ok := known[row.ID]; !ok || row.place() > old.place() {
			known[row.ID] = row
		}
	}
	for _, e := range expired {
		if _, ok := known[e.item]; !ok {
			known[e.item] = itemRow{ID: e.item, Redaction: "expired"}
		}
	}
	return known
}

// personas are the injections of the thread that had given a persona, the last one first.
func (w *window) personas() []placedRow {
	personas := slices.DeleteFunc(slices.Clone(w.placed), func(p placedRow) bool { return !p.personaOf(w.call) })
	slices.SortStableFunc(personas, func(b, a placedRow) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.Persona, b.Persona), slices.Compare(a.ItemRefs, b.ItemRefs))
	})
	return personas
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// passes are the passes that elided or reloaded items, the last one first.
func (w *window) passes() []replacedRow {
	passes := slices.DeleteFunc(slices.Clone(w.replaced), func(r replacedRow) bool {
		return r.Kind != "elision" || r.Thread != w.call.thread || !r.of(w.call.attempt)
	})
	slices.SortStableFunc(passes, func(b, a replacedRow) int {
		order := cmp.Compare(a.place(), b.place())
		if order == 0 && a.applied() != b.applied() {
			order = 1
			if b.applied() {
				order = -1
			}
		}
		return cmp.Or(order, slices.Compare(a.Refs, b.Refs), slices.Compare(a.Tools, b.Tools))
	})
	return passes
}

// elide adds the effect of the last pass before a block to the block.
func elide(b *Block, passes []replacedRow, order int64, item itemRow) {
	byTool := b.Type == "function_call_output" && b.ToolCall != ""
	i := slices.IndexFunc(passes, func(p replacedRow) bool {
		return p.place() < order && (intersect(b.Items, p.Refs) || byTool && slices.Contains(p.Tools, b.ToolCall))
	})
	if i < 0 || !passes[i].applied() {
		return
	}
	p := passes[i]
	place := slices.Index(p.Refs, at(b.Items, 1)) + 1
	if place == 0 && byTool {
		place = slices.Index(p.Tools, b.ToolCall) + 1
	}
	before := item.Tokens
	if b.Origin == "log" {
		before, b.Tokens = b.Tokens, at(p.After, place)
	}
	if b.Full = at(p.Before, place); b.Full == nil {
		b.Full = before
	}
	b.Elided, b.ElidedBy, b.ElidedLevel, b.Reload = true, p.Record, cmp.Or(at(p.Levels, place), p.Level), at(p.Reload, place)
}
