package producer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/ctxledger/ctxledger/schema"
)

// Limits are what a run may spend, by name: a budget is a limit. The names and
// units are the runtime's own, but for those below; what has no name here has no
// limit. Recording enforces none of them except [LimitWindow]: a runtime asks
// [Limits.Check] where it spends, or [Account.Reserve] before it spends.
type Limits map[string]float64

// LimitWindow is the most tokens, prompt and reserved output together, that the
// window of any call of the run may have. A turn takes the smaller of it and its
// model's.
const LimitWindow = "max_window_tokens"

// ErrLimit is what every [*ExceededError] wraps.
var ErrLimit = errors.New("limit exceeded")

// ExceededError says that more was spent than a limit allows.
type ExceededError struct {
	Name          string // of the limit
	Limit, Actual float64
}

// Error names the limit and both numbers.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%v: %s is %v, and the limit %v", ErrLimit, e.Name, e.Actual, e.Limit)
}

// Unwrap returns [ErrLimit].
func (e *ExceededError) Unwrap() error { return ErrLimit }

// Check returns an [*ExceededError] where actual is above the limit called name,
// and nil at the limit, below it, and where there is no such limit.
//
// Source: seed 000 (limits), shared/vectors/noetic.json, check_budget.
func (l Limits) Check(name string, actual float64) error {
	limit, limited := l[name]
	if !limited || actual <= limit {
		return nil
	}
	return &ExceededError{Name: name, Limit: limit, Actual: actual}
}

// Validate reports a limit that is no limit: one without a name, negative, or
// not a finite number. It changes nothing. The error is an [*InvalidError].
func (l Limits) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch n := l[name]; {
		case name == "":
			return invalid("limits", "needs a name for each limit")
		case math.IsNaN(n) || math.IsInf(n, 0) || n < 0:
			return invalid(limitField(name), "must be a number from 0")
		}
	}
	return nil
}

// Narrow returns the limits of a child of a run that has l: all of l, and what
// the child asks for, which may be lower than the parent's or new, never higher.
// No slice or map is shared. The error is an [*InvalidError], which wraps
// [ErrWidened] where a limit would be higher.
func (l Limits) Narrow(asked Limits) (Limits, error) {
	if err := asked.Validate(); err != nil {
		return nil, err
	}
	effective := maps.Clone(l)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if has, limited := l[name]; limited && asked[name] > has {
			return nil, &InvalidError{
				Field: limitField(name), Problem: fmt.Sprintf("would be %v, and the parent's is %v", asked[name], has), also: ErrWidened,
			}
		}
		if effective == nil {
			effective = make(Limits, len(asked))
		}
		effective[name] = asked[name]
	}
	return effective, nil
}

func limitField(name string) string { return "limits[" + strconv.Quote(name) + "]" }

// recorded is the form that the fact has.
func (l Limits) recorded() map[string]any {
	if len(l) == 0 {
		return nil
	}
	named := make(map[string]any, len(l))
	for name, n := range l {
		named[name] = n
	}
	return named
}

// bound is the model with a window that the limits allow.
func (l Limits) bound(m Model) Model {
	if most, limited := l[LimitWindow]; limited && float64(m.Window.MaxTokens) > most {
		m.Window.MaxTokens = int(most)
	}
	return m
}

// An Account counts what a run and the runs below it have used, and holds what they
// reserve. It belongs to one [RunContext], and lasts as long as the process. It is safe for
// concurrent use.
type Account struct {
	book            *sync.Mutex // one for all runs below a root
	above           *Account    // nil for a root
	limits          Limits
	calls           int64
	usage           schema.ProviderUsage
	spent, reserved map[string]float64
	open            int // reservations
}

// Spending is what a run has used so far, with the runs below it. It is a copy.
type Spending struct {
	Calls int64 // model calls whose usage was recorded
	// Usage is what providers billed for these calls. A bucket that no call reported is
	// nil.
	Usage    schema.ProviderUsage
	Spent    map[string]float64 // by the name of a limit, as reservations were settled
	Reserved map[string]float64 // held by reservations that are open
}

// Spending returns what the run and the runs below it have used since the run was opened.
//
// Source: seed 000 (usage and cost handles).
func (a *Account) Spending() Spending {
	a.book.Lock()
	defer a.book.Unlock()
	s := Spending{Calls: a.calls, Usage: SumUsage(a.usage)}
	s.Spent, s.Reserved = maps.Clone(a.spent), maps.Clone(a.reserved)
	return s
}

// Reserve holds amounts, by the names of limits, before they are spent. An amount counts
// for the run and for every run above it, and all amounts are held or none. Runs may
// reserve at once. A name without a limit is only counted.
//
// The error is an [*ExceededError] where an amount does not fit into what a run of the
// chain has left, and an [*InvalidError] for a negative amount.
//
// Source: seed 000 (limits), shared/vectors/tinyagents.json, T044 to T046.
func (a *Account) Reserve(amounts Limits) (*Reservation, error) {
	if err := amounts.Validate(); err != nil {
		return nil, err
	}
	a.book.Lock()
	defer a.book.Unlock()
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		for run := a; run != nil; run = run.above {
			if err := run.limits.Check(name, run.spent[name]+run.reserved[name]+amounts[name]); err != nil {
				return nil, err
			}
		}
	}
	a.hold(amounts)
	return &Reservation{account: a, amounts: maps.Collect(maps.All(amounts))}, nil
}

// A Reservation holds amounts until it is settled or released. The first of both counts,
// and later calls do nothing, so that a caller can defer Release. It is safe for
// concurrent use.
type Reservation struct {
	account *Account
	amounts Limits // nil once it has ended
}

// Settle replaces what is held by what was really used. All of that counts, also where it
// is more than was reserved. The error is an [*ExceededError] where a limit is exceeded
// now, and an [*InvalidError], with the reservation still open, for a negative amount.
func (v *Reservation) Settle(used Limits) error {
	if err := used.Validate(); err != nil {
		return err
	}
	a := v.account
	a.book.Lock()
	defer a.book.Unlock()
	if v.amounts == nil {
		return nil
	}
	v.end()
	a.pay(used)
	for _, name := range slices.Sorted(maps.Keys(used)) {
		for run := a; run != nil; run = run.above {
			if err := run.limits.Check(name, run.spent[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Release gives back what is held: an answer came from a cache, or the call failed.
func (v *Reservation) Release() {
	v.account.book.Lock()
	defer v.account.book.Unlock()
	v.end()
}

func (v *Reservation) end() {
	if v.amounts != nil {
		v.account.release(v.amounts)
		v.amounts = nil
	}
}

func newAccount(above *Account, limits Limits) *Account {
	a := &Account{book: new(sync.Mutex), above: above, limits: limits, spent: make(map[string]float64), reserved: make(map[string]float64)}
	if above != nil {
		a.book = above.book
	}
	return a
}

// hold, release and pay count for the run and all above it. The lock is held.
func (a *Account) hold(amounts Limits) {
	for ; a != nil; a = a.above {
		a.open++
		for name, n := range amounts {
			a.reserved[name] += n
		}
	}
}

func (a *Account) release(amounts Limits) {
	for ; a != nil; a = a.above {
		for name, n := range amounts {
			a.reserved[name] -= n
		}
		if a.open--; a.open == 0 {
			clear(a.reserved) // and with it what rounding has left
		}
	}
}

func (a *Account) pay(used Limits) {
	for ; a != nil; a = a.above {
		for name, n := range used {
			a.spent[name] += n
		}
	}
}

// bill counts a call whose usage was recorded.
func (a *Account) bill(usage schema.ProviderUsage) {
	a.book.Lock()
	defer a.book.Unlock()
	for ; a != nil; a = a.above {
		a.calls++
		a.usage = SumUsage(a.usage, usage)
	}
}
