package producer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// A run reserves before it spends, and then settles the used amount.
func ExampleAccount_Reserve() {
	client, _ := producer.NewClient(producer.Config{}, new(producertest.Recorder)) // a runtime has producer.Connect
	run, _ := client.Open(context.Background(), producer.Run{Session: "s_42", Limits: producer.Limits{"output_tokens": 100}})
	call, err := run.Account.Reserve(producer.Limits{"output_tokens": 80})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer call.Release() // if the model fails
	_, err = run.Account.Reserve(producer.Limits{"output_tokens": 30})
	fmt.Println(err)
	err = call.Settle(producer.Limits{"output_tokens": 55})
	fmt.Println(run.Account.Spending().Spent["output_tokens"], err)
	// Output:
	// limit exceeded: output_tokens is 110, above the limit of 100
	// 55 <nil>
}

// TestSpendingOfARunAndThoseBelowIt: usage counts for the run and all runs above it, and
// not for a sibling.
func TestSpendingOfARunAndThoseBelowIt(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	root := opened(t, client, producer.Run{Session: "s", MaxDepth: 2})
	child := func(run *producer.RunContext) *producer.RunContext {
		t.Helper()
		c, err := run.Child(t.Context(), producer.Child{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := child(root), child(root)
	below := child(first)
	bill := func(run *producer.RunContext, input, output int64) {
		t.Helper()
		call := run.Turn("t", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 1000}}).Call(fmt.Sprint(input))
		plan, err := call.Fit(t.Context(), []window.Item{{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 4}}, window.DefaultPolicy(), nil)
		if err == nil {
			err = call.Usage(t.Context(), plan, schema.ProviderUsage{UncachedInput: &input, Output: &output})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bill(root, 1, 2)
	bill(first, 10, 20)
	bill(below, 100, 200)
	for name, c := range map[string]struct {
		run           *producer.RunContext
		calls         int64
		input, output int64
	}{"root": {root, 3, 111, 222}, "first": {first, 2, 110, 220}, "below": {below, 1, 100, 200}} {
		s := c.run.Account.Spending()
		if s.Calls != c.calls || *s.Usage.UncachedInput != c.input || *s.Usage.Output != c.output || s.Usage.CacheRead != nil {
			t.Errorf("%s: %+v", name, s)
		}
		*s.Usage.Output = -1 // a copy
	}
	if s := second.Account.Spending(); s.Calls != 0 || s.Usage.Output != nil {
		t.Errorf("a sibling: %+v", s)
	}
	if n := *root.Account.Spending().Usage.Output; n != 222 {
		t.Errorf("a copy changed the account: %d", n)
	}
}

// TestReservations: the reserved and spent amounts are never above a limit of the chain,
// and nothing is reserved at the end. The model is a plain sum.
func TestReservations(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	rapid.Check(t, func(rt *rapid.T) {
		root := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Limits: producer.Limits{"n": 10}})
		child, err := root.Child(t.Context(), producer.Child{Limits: producer.Limits{"n": 6}})
		if err != nil {
			rt.Fatal(err)
		}
		type open struct {
			*producer.Reservation
			amount  float64
			ofChild bool
		}
		var list []open
		var spent, spentChild float64
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 3), 1, 40).Draw(rt, "steps") {
			amount := float64(rapid.IntRange(0, 4).Draw(rt, "amount")) / 10 * 3
			held, heldChild := 0.0, 0.0
			for _, o := range list {
				held += o.amount
				if o.ofChild {
					heldChild += o.amount
				}
			}
			switch ofChild := step == 1; {
			case step < 2:
				run := root
				if ofChild {
					run = child
				}
				const rounding = 1e-9
				left := 10 - spent - held
				if ofChild {
					left = min(left, 6-spentChild-heldChild)
				}
				r, err := run.Account.Reserve(producer.Limits{"n": amount})
				if err == nil != (amount <= left) && (amount > left+rounding || amount < left-rounding) {
					rt.Fatalf("reserve %v of %v: %v", amount, left, err)
				}
				if err == nil {
					list = append(list, open{r, amount, ofChild})
				} else if !errors.Is(err, producer.ErrLimit) {
					rt.Fatal(err)
				}
			case len(list) == 0:
			case step == 2:
				list[0].Release()
				list[0].Release()
				if err := list[0].Settle(producer.Limits{"n": 4}); err != nil { // too late: it has no effect
					rt.Fatal(err)
				}
				list = list[1:]
			default:
				if err := list[0].Settle(producer.Limits{"n": list[0].amount / 2}); err != nil {
					rt.Fatal(err)
				}
				list[0].Release()
				spent += list[0].amount / 2
				if list[0].ofChild {
					spentChild += list[0].amount / 2
				}
				list = list[1:]
			}
		}
		for _, o := range list {
			o.Release()
		}
		if s := root.Account.Spending(); len(s.Reserved) != 0 || s.Spent["n"] < spent-1e-9 || s.Spent["n"] > spent+1e-9 {
			rt.Fatalf("%+v, spent %v", s, spent)
		}
	})
}

// TestRunsReserveAtOnce: of a hundred concurrent runs, exactly as many get a reservation as
// the limit allows.
func TestRunsReserveAtOnce(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	root := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Limits: producer.Limits{"calls": 17, "tokens": 1000}})
	var wait sync.WaitGroup
	got := make(chan *producer.Reservation, 100)
	for range 100 {
		child, err := root.Child(t.Context(), producer.Child{})
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			if r, err := child.Account.Reserve(producer.Limits{"calls": 1, "tokens": 10}); err == nil {
				got <- r
			} else if !errors.Is(err, producer.ErrLimit) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if s := root.Account.Spending(); len(got) != 17 || s.Reserved["calls"] != 17 || s.Reserved["tokens"] != 170 {
		t.Errorf("%d got it, %+v", len(got), s)
	}
}

// TestReservationsThatAreRefused: the error names the input, and nothing is reserved.
func TestReservationsThatAreRefused(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, Limits: producer.Limits{"a": 1, "b": 1}})
	child, err := run.Child(t.Context(), producer.Child{Limits: producer.Limits{"new": 5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, amounts := range []producer.Limits{{"a": -1}, {"": 1}} {
		if _, err := run.Account.Reserve(amounts); !errors.Is(err, producer.ErrInvalid) {
			t.Errorf("%v: %v", amounts, err)
		}
	}
	var exceeded *producer.ExceededError
	if _, err := child.Account.Reserve(producer.Limits{"a": 1, "b": 2, "new": 1}); !errors.As(err, &exceeded) || exceeded.Name != "b" || exceeded.Actual != 2 {
		t.Errorf("above the parent's: %v", err)
	}
	if s := run.Account.Spending(); len(s.Reserved) > 0 {
		t.Errorf("held %v", maps.Clone(s.Reserved))
	}
	held, err := child.Account.Reserve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Settle(producer.Limits{"a": -1}); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("settled with a negative amount: %v", err)
	}
	if err := held.Settle(producer.Limits{"a": 3}); !errors.As(err, &exceeded) || exceeded.Actual != 3 {
		t.Errorf("settled above the limit: %v", err)
	}
	if s := run.Account.Spending(); s.Spent["a"] != 3 {
		t.Errorf("what was really used counts: %+v", s)
	}
}
