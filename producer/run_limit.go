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

// Limits are the amounts that a run may spend, by name: a budget is a limit. The runtime
// chooses the names and units, except for the constants of this package. A name that is
// absent has no limit. Recording enforces only [LimitWindow]. A runtime calls
// [Limits.Check] when it spends, or [Account.Reserve] before it spends.
type Limits map[string]float64

// LimitWindow is the largest number of tokens in the window of any call of the run.
// LimitWindow counts the prompt and the reserved output. A turn uses the smaller of
// LimitWindow and the model's window.
const LimitWindow = "max_window_tokens"

// ErrLimit is wrapped by every [*ExceededError].
var ErrLimit = errors.New("limit exceeded")

// ExceededError means that more was spent than a limit allows.
type ExceededError struct {
	Name          string // the limit's name
	Limit, Actual float64
}

// Error names the limit and both numbers.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%v: %s is %v, above the limit of %v", ErrLimit, e.Name, e.Actual, e.Limit)
}

// Unwrap returns [ErrLimit].
func (e *ExceededError) Unwrap() error { return ErrLimit }

// Check returns an [*ExceededError] if actual is above the limit with this name. Check
// returns nil at the limit, below the limit, and without such a limit.
//
// Source: seed 000 (limits), shared/vectors/noetic.json, check_budget.
func (l Limits) Check(name string, actual float64) error {
	limit, limited := l[name]
	if !limited || actual <= limit {
		return nil
	}
	return &ExceededError{Name: name, Limit: limit, Actual: actual}
}

// Validate checks the limits. Each needs a name and a finite number that is not negative.
// Validate changes nothing. The error is an [*InvalidError].
func (l Limits) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch n := l[name]; {
		case name == "":
			return invalid("limits", "must have a name for each limit")
		case math.IsNaN(n) || math.IsInf(n, 0) || n < 0:
			return invalid(limitField(name), "must be a number of 0 or more")
		}
	}
	return nil
}

// Narrow returns the limits of a child of a run that has l: all of l, changed by the
// requested limits. A requested limit is new, or at most the parent's. No slice or map is
// shared. The error is an [*InvalidError], which wraps [ErrWidened] for a limit above the
// parent's.
func (l Limits) Narrow(asked Limits) (Limits, error) {
	if err := asked.Validate(); err != nil {
		return nil, err
	}
	effective := maps.Clone(l)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if has, limited := l[name]; limited && asked[name] > has {
			return nil, &InvalidError{
				Field: limitField(name), Problem: fmt.Sprintf("would be %v, above the parent's limit of %v", asked[name], has), also: ErrWidened,
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

// recorded returns the limits in the form of the fact.
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

// bound returns the model with a window within the limits.
func (l Limits) bound(m Model) Model {
	if most, limited := l[LimitWindow]; limited && float64(m.Window.MaxTokens) > most {
		m.Window.MaxTokens = int(most)
	}
	return m
}

// An Account counts the use of a run and of the runs below it, and holds their
// reservations. An Account belongs to one [RunContext] and lasts as long as the process. An
// Account is safe for concurrent use.
type Account struct {
	book            *sync.Mutex // shared by all runs below a root
	above           *Account    // nil for a root
	limits          Limits
	calls           int64
	usage           schema.ProviderUsage
	spent, reserved map[string]float64
	open            int // number of open reservations
}

// Spending is the use of a run and of the runs below it. Spending is a copy.
type Spending struct {
	Calls int64 // number of model calls with recorded usage
	// Usage is the sum of the providers' bills for these calls. A bucket that no call
	// reported is nil.
	Usage    schema.ProviderUsage
	Spent    map[string]float64 // amounts of settled reservations, by the name of a limit
	Reserved map[string]float64 // amounts of open reservations
}

// Spending returns the use of the run and of the runs below it since the run was opened.
//
// Source: seed 000 (usage and cost handles).
func (a *Account) Spending() Spending {
	a.book.Lock()
	defer a.book.Unlock()
	s := Spending{Calls: a.calls, Usage: SumUsage(a.usage)}
	s.Spent, s.Reserved = maps.Clone(a.spent), maps.Clone(a.reserved)
	return s
}

// Reserve reserves amounts, by the names of limits, before they are spent. An amount counts
// for the run and for every run above it. All amounts are reserved, or none. Runs may
// reserve concurrently. A name without a limit is only counted.
//
// The error is an [*ExceededError] for an amount above the remainder of a run of the chain,
// and an [*InvalidError] for a negative amount.
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

// A Reservation reserves amounts until Settle or Release. Only the first of these calls has
// an effect, so a caller can defer Release. A Reservation is safe for concurrent use.
type Reservation struct {
	account *Account
	amounts Limits // nil after the end
}

// Settle replaces the reserved amounts by the used amounts. All used amounts count, even
// above the reservation. The error is an [*ExceededError] if a limit is exceeded now. For a
// negative amount, the error is an [*InvalidError], and the reservation stays open.
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

// Release gives back the reserved amounts, for example after an answer from a cache or a
// failed call.
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

// hold, release and pay count for the run and all runs above it. The caller holds the lock.
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
			clear(a.reserved) // removes remainders of rounding
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

// bill counts a call with recorded usage.
func (a *Account) bill(usage schema.ProviderUsage) {
	a.book.Lock()
	defer a.book.Unlock()
	for ; a != nil; a = a.above {
		a.calls++
		a.usage = SumUsage(a.usage, usage)
	}
}
