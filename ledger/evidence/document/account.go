package document

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// Bounds of an account, for packs of every size. Records beyond a bound are counted only.
const (
	mostWindows   = 1000
	mostShown     = 100     // listed blocks of one window
	mostBlocks    = 300_000 // blocks of all windows
	mostListed    = 500     // redactions, compactions or erasures
	mostReasons   = 50      // of omissions
	mostOmissions = 1000
)

// Account is the content of a pack for people. It follows from the records, like every document,
// and its texts have no characters that change the direction or the place of other text.
type Account struct {
	Header                            pack.Header
	First, Last                       time.Time // of the events; zero without events
	Records, Events, Erased, Withheld uint64
	Seals                             uint64 // scopes whose number of facts a record states
	Windows                           []AccountWindow
	FurtherWindows                    uint64
	Redactions                        []AccountRedaction
	FurtherRedactions                 uint64
	Omissions                         []AccountOmission
	OmittedItems                      uint64
	Reasons                           []ReasonCount // in the order of their first omission
	Compactions                       []AccountCompaction
	FurtherCompactions                uint64
	Gaps                              []AccountGap // open ones
	FurtherGaps, ResolvedGaps         uint64
	Erasures                          []AccountErasure
}

// AccountWindow is the window of one call.
type AccountWindow struct {
	Turn, Attempt, Call, Target string
	At                          time.Time
	Fidelity                    string // how it is known
	Partial                     bool
	Billed                      *int64         // input tokens of the bill; nil if unknown
	Blocks                      []AccountBlock // in order; those after Listed have no What
	AllBlocks                   int            // with the blocks that are not listed
	Tokens                      int64          // of all blocks of known size
	Unsized                     int            // blocks of unknown size
	Layers                      bool           // the blocks are layers, because no assembly is recorded
}

// AccountBlock is a block of a window.
type AccountBlock struct {
	Layer, Role, What, Redaction string
	Tokens                       *int64
}

// AccountRedaction is content that was withheld.
type AccountRedaction struct {
	At                              time.Time
	Target, State, Reason, Policies string
}

// AccountOmission is an item that a selection left out.
type AccountOmission struct{ Item, Reason, Turn, Call string }

// ReasonCount counts omissions with a reason.
type ReasonCount struct {
	Reason string
	Items  uint64
}

// AccountCompaction is a summary that replaced items.
type AccountCompaction struct {
	At                         time.Time
	ID, Summary, Trigger, Loss string
	Items                      int // that it replaced, where the record lists them
	TokensBefore, TokensAfter  *int64
}

// AccountGap is missing context that nobody has supplied.
type AccountGap struct {
	ID, Label, Owner, Status string
	At                       time.Time
}

// AccountErasure is an erasure that took content of the pack.
type AccountErasure struct {
	ID, Reason string
	Records    uint64
}

// account collects an Account.
type account struct {
	Account
	windows  map[accountKey]int // index of each window
	ranks    map[accountKey]int
	reasons  map[string]int
	erasures map[string]int
	blocks   int
}

type accountKey struct{ turn, attempt, call, target string }

// plain makes a text of a record safe for a page, and cuts it to n characters.
func plain(text string, n int) string {
	return clip(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		case unicode.IsControl(r), r == 0x2028, r == 0x2029:
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "")), n)
}

func plainRefs(refs []schema.Ref) string { return plain(strings.Join(schema.RefIDs(refs), ", "), 160) }

// see adds a fact of the scope.
func (a *account) see(w *windows, e *schema.Event, fact schema.Fact, whole *assembly) {
	switch f := fact.(type) {
	case *schema.AssemblyCreated:
		a.assembled(w, e, f, whole)
	case *schema.UsageRecorded:
		a.used(w, e, f)
	case *schema.SelectionCompleted:
		for i := range f.Omitted {
			a.omit(e, f.CallID, &f.Omitted[i])
		}
	case *schema.RedactionApplied:
		if len(a.Redactions) >= mostListed {
			a.FurtherRedactions++
			return
		}
		a.Redactions = append(a.Redactions, AccountRedaction{e.Time, plain(f.TargetRef.ID(), 120), plain(string(f.RedactionState), 40), plain(f.Reason, 200), plainRefs(f.PolicyRefs)})
	case *schema.CompactionCompleted:
		a.compact(e, f)
	case *schema.MissingResolved:
		a.ResolvedGaps++
	}
}

// of returns the window of a key, nil beyond the bound.
func (a *account) of(k accountKey, rank int) *AccountWindow {
	i, known := a.windows[k]
	switch {
	case known && a.ranks[k] > rank:
		return nil
	case !known && len(a.Windows) >= mostWindows:
		a.FurtherWindows++
		return nil
	case !known:
		if a.windows == nil {
			a.windows, a.ranks = make(map[accountKey]int), make(map[accountKey]int)
		}
		i = len(a.Windows)
		a.windows[k] = i
		a.Windows = append(a.Windows, AccountWindow{})
	}
	a.ranks[k] = rank
	return &a.Windows[i]
}

func (a *account) assembled(w *windows, e *schema.Event, f *schema.AssemblyCreated, whole *assembly) {
	k := accountKey{e.TurnID, w.attempt(e), cmp.Or(f.CallID, f.AssemblyID), f.Target}
	found := a.of(k, 1+fidelity(e, f.Known).Rank())
	if found == nil {
		return
	}
	*found = AccountWindow{
		Turn: plain(e.TurnID, 80), Attempt: plain(k.attempt, 80), Call: plain(k.call, 80), Target: plain(f.Target, 40), At: e.Time,
		Fidelity: plain(string(fidelity(e, f.Known)), 40), Partial: whole.lacking || f.Coverage == schema.CoveragePartial, Billed: found.Billed,
	}
	for _, b := range whole.blocks {
		a.add(found, b.line)
	}
}

// Listed returns the blocks that a page lists. The others have a size and no name.
func (v AccountWindow) Listed() []AccountBlock { return v.Blocks[:min(len(v.Blocks), mostShown)] }

func (a *account) add(v *AccountWindow, b blockLine) {
	v.AllBlocks++
	if b.tokens == nil {
		v.Unsized++
	} else {
		v.Tokens += *b.tokens
	}
	if a.blocks++; a.blocks > mostBlocks && len(v.Blocks) >= mostShown {
		return
	}
	block := AccountBlock{Layer: plain(b.layer, 40), Role: plain(b.role, 40), Redaction: plain(string(b.redaction), 40), Tokens: b.tokens}
	if len(v.Blocks) < mostShown {
		block.What = plain(b.what, 90)
	}
	v.Blocks = append(v.Blocks, block)
}

// used adds the bill of a call, and the layers of a call without an assembly.
func (a *account) used(w *windows, e *schema.Event, f *schema.UsageRecorded) {
	k := accountKey{e.TurnID, w.attempt(e), f.CallID, "model"}
	billed, known := f.Usage.Window()
	if i, there := a.windows[k]; there && known {
		a.Windows[i].Billed = &billed
	}
	if f.AssemblyID != "" || len(f.Layers) == 0 {
		return
	}
	found := a.of(k, 0)
	if found == nil {
		return
	}
	*found = AccountWindow{
		Turn: plain(e.TurnID, 80), Attempt: plain(k.attempt, 80), Call: plain(k.call, 80), Target: "model", At: e.Time,
		Fidelity: plain(string(fidelity(e, f.Known)), 40), Partial: f.Coverage == schema.CoveragePartial, Layers: true,
	}
	if known {
		found.Billed = &billed
	}
	for i := range f.Layers {
		l := &f.Layers[i]
		what := "the whole layer"
		if l.Items != nil {
			what = plural(uint64(max(0, *l.Items)), "item")
		}
		a.add(found, blockLine{layer: l.Layer, what: what, tokens: l.Tokens})
	}
}

func (a *account) omit(e *schema.Event, call string, c *schema.Candidate) {
	a.OmittedItems++
	reason := plain(string(c.Reason), 60)
	i, known := a.reasons[reason]
	if !known && len(a.Reasons) < mostReasons {
		if a.reasons == nil {
			a.reasons = make(map[string]int)
		}
		i, known = len(a.Reasons), true
		a.reasons[reason] = i
		a.Reasons = append(a.Reasons, ReasonCount{Reason: reason})
	}
	if known {
		a.Reasons[i].Items++
	}
	if len(a.Omissions) < mostOmissions {
		a.Omissions = append(a.Omissions, AccountOmission{plain(c.ItemRef.ID(), 120), reason, plain(e.TurnID, 80), plain(call, 80)})
	}
}

func (a *account) compact(e *schema.Event, f *schema.CompactionCompleted) {
	if len(a.Compactions) >= mostListed {
		a.FurtherCompactions++
		return
	}
	a.Compactions = append(a.Compactions, AccountCompaction{
		At: e.Time, ID: plain(f.CompactionID, 80), Summary: plain(f.SummaryRef.ID(), 120), Trigger: plain(string(f.Trigger), 40),
		Loss: plain(strings.Join(f.LossNotes, "; "), 300), Items: len(f.SourceItemRefs), TokensBefore: f.TokensBefore, TokensAfter: f.TokensAfter,
	})
}

// erased counts a record whose content an erasure took.
func (a *account) erased(erasure string) {
	i, known := a.erasures[erasure]
	if !known {
		if len(a.Erasures) >= mostListed {
			return
		}
		if a.erasures == nil {
			a.erasures = make(map[string]int)
		}
		i = len(a.Erasures)
		a.erasures[erasure] = i
		a.Erasures = append(a.Erasures, AccountErasure{ID: plain(erasure, 120)})
	}
	a.Erasures[i].Records++
}

// explain keeps the reason of an erasure.
func (a *account) explain(f *schema.ErasureApplied) {
	for i := range a.Erasures {
		if a.Erasures[i].ID == plain(f.ErasureID, 120) {
			a.Erasures[i].Reason = plain(f.Reason, 200)
		}
	}
}

// AccountOf returns the account of all records that a builder has so far.
func AccountOf(b *Builder) Account {
	a := b.account.Account
	a.Header, a.First, a.Last = b.header, b.windows.first, b.windows.last
	a.Records, a.Events, a.Erased, a.Withheld, a.Seals = b.tally.records, b.tally.events, b.tally.erased, b.tally.withheld, b.tally.seals
	for _, g := range b.gaps.list() {
		a.Gaps = append(a.Gaps, AccountGap{plain(g.id, 120), plain(g.label, 256), plain(g.owner, 120), plain(string(g.status), 40), g.at})
	}
	a.FurtherGaps = b.gaps.more
	return a
}

// Account returns the account of the compared records.
func (c *Comparer) Account() Account { return AccountOf(c.builder) }

// Figure is a statement of an account that a page repeats.
type Figure struct{ Name, Value string }

// Unknown is the value of a figure that no record states.
const Unknown = "unknown"

// Figures returns the statements of the account. A page of the pack has each of them at least once,
// as <data data-figure=NAME value=VALUE>.
func (a Account) Figures() []Figure {
	var list []Figure
	text := func(name, value string) { list = append(list, Figure{name, value}) }
	count := func(name string, n uint64) { text(name, strconv.FormatUint(n, 10)) }
	tokens := func(name string, n *int64) {
		if n == nil {
			text(name, Unknown)
			return
		}
		text(name, strconv.FormatInt(*n, 10))
	}
	count("records", a.Records)
	count("erased", a.Erased)
	count("withheld", a.Withheld)
	count("seals", a.Seals)
	count("windows", uint64(len(a.Windows))+a.FurtherWindows)
	count("redactions", uint64(len(a.Redactions))+a.FurtherRedactions)
	count("omissions", a.OmittedItems)
	count("compactions", uint64(len(a.Compactions))+a.FurtherCompactions)
	count("gaps", uint64(len(a.Gaps))+a.FurtherGaps)
	count("gaps.resolved", a.ResolvedGaps)
	for i, w := range a.Windows {
		at := "window." + strconv.Itoa(i+1)
		text(at+".call", w.Call)
		text(at+".turn", w.Turn)
		count(at+".blocks", uint64(w.AllBlocks))
		text(at+".tokens", strconv.FormatInt(w.Tokens, 10))
		tokens(at+".billed", w.Billed)
		for j, b := range w.Listed() {
			tokens(at+".block."+strconv.Itoa(j+1), b.Tokens)
		}
	}
	for i, r := range a.Redactions {
		at := "redaction." + strconv.Itoa(i+1)
		text(at+".target", r.Target)
		text(at+".policies", r.Policies)
		text(at+".reason", r.Reason)
	}
	for i, r := range a.Reasons {
		text("reason."+strconv.Itoa(i+1), r.Reason)
		count("reason."+strconv.Itoa(i+1)+".items", r.Items)
	}
	for i, o := range a.Omissions {
		text("omission."+strconv.Itoa(i+1), o.Item)
	}
	for i, c := range a.Compactions {
		at := "compaction." + strconv.Itoa(i+1)
		text(at+".id", c.ID)
		count(at+".items", uint64(c.Items))
		tokens(at+".before", c.TokensBefore)
		tokens(at+".after", c.TokensAfter)
	}
	for i, g := range a.Gaps {
		text("gap."+strconv.Itoa(i+1), g.Label)
	}
	for i, e := range a.Erasures {
		text("erasure."+strconv.Itoa(i+1), e.ID)
		count("erasure."+strconv.Itoa(i+1)+".records", e.Records)
	}
	return list
}
