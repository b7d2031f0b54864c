package projector

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/projector/identity"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// without skips a step.
func without(verb string) func(*Projector) {
	return bent(func(_ *Projector, list []steps.Step) []steps.Step {
		return slices.DeleteFunc(list, func(s steps.Step) bool { return s.Verb == verb })
	})
}

// swapped runs two steps in the opposite order.
func swapped(one, other string) func(*Projector) {
	return bent(func(_ *Projector, list []steps.Step) []steps.Step {
		i := slices.IndexFunc(list, func(s steps.Step) bool { return s.Verb == one })
		j := slices.IndexFunc(list, func(s steps.Step) bool { return s.Verb == other })
		if i >= 0 && j >= 0 {
			list[i], list[j] = list[j], list[i]
		}
		return list
	})
}

// earlier runs a step before an earlier one.
func earlier(one, other string) func(*Projector) {
	return bent(func(_ *Projector, list []steps.Step) []steps.Step {
		i := slices.IndexFunc(list, func(s steps.Step) bool { return s.Verb == one })
		j := slices.IndexFunc(list, func(s steps.Step) bool { return s.Verb == other })
		if i > j && j >= 0 {
			moved := list[i]
			list = slices.Insert(slices.Delete(list, i, i+1), j, moved)
		}
		return list
	})
}

// instead replaces a step by another action.
func instead(verb string, do func(p *Projector, ctx context.Context) error) func(*Projector) {
	return bent(func(p *Projector, list []steps.Step) []steps.Step {
		for i := range list {
			if list[i].Verb == verb {
				list[i].Do = func(ctx context.Context) error { return do(p, ctx) }
			}
		}
		return list
	})
}

func bent(how func(*Projector, []steps.Step) []steps.Step) func(*Projector) {
	return func(p *Projector) {
		p.config.Steps = otherwise(func(list []steps.Step) []steps.Step { return how(p, list) })
	}
}

// otherwise runs changed steps of the protocol.
type otherwise func([]steps.Step) []steps.Step

func (make otherwise) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	return steps.InOrder{}.Walk(ctx, make(slices.Clone(list)), take)
}

// planted are broken rules of the protocol, one for each world. Rare conditions that show the
// fault are made frequent.
var planted = map[string]func(*schedule){
	"the journal after the rows": inProjector(swapped("journal", "write")),
	"the commit before the rows": inProjector(swapped("commit", "write")),
	"no journal":                 inProjector(without("journal")),
	"no settling":                inProjector(without("settle the journalled range")),
	"no walk back":               inProjector(without("walk back"), "table restored"),
	"no look at the checkpoint":  inProjector(without("look at the checkpoint"), "ledger restored"),
	"no copy to quarantine":      inProjector(without("publish to quarantine")),
	"delete before the rows":     inProjector(earlier("delete reintroduced values", "write")),
	"no kill of old inserts": inProjector(func(p *Projector) {
		p.store = lenient{p.store}
	}, "insert left running"),
	"no verifying of the last commit": inProjector(instead("verify the last commit", func(p *Projector, _ context.Context) error {
		next, first := p.last.Last+1, p.source.Info.State.FirstSeq
		if p.last.Last > 0 && first > next {
			return streamio.Expired(next, first-1)
		}
		p.committed.Store(max(next, first) - 1)
		return nil
	}), "message replaced", "stream restored"),
	"no look before a range is settled": inProjector(bent(func(_ *Projector, list []steps.Step) []steps.Step {
		if slices.ContainsFunc(list, func(s steps.Step) bool { return s.Verb == "journal" }) {
			return list
		}
		return slices.DeleteFunc(list, func(s steps.Step) bool { return s.Verb == "look at the checkpoint" })
	}), "ledger restored"),
	"identities not loaded": inProjector(instead("load what events are held against", func(p *Projector, ctx context.Context) error {
		p.seen = identity.New(1000)
		return p.loadWithheld(ctx)
	})),
	"values not loaded": inProjector(instead("load what events are held against", func(p *Projector, ctx context.Context) error {
		p.withheld = leak.NewValues(nil)
		return p.loadIdentities(ctx)
	})),
	"changes that compare nothing": func(s *schedule) { s.bucket.unsafe = true },
	"tokens without a digest":      func(s *schedule) { s.tables.short = true },
}

func inProjector(plant func(*Projector), actions ...string) func(*schedule) {
	return func(s *schedule) {
		s.plant = plant
		s.favour(actions...)
	}
}

// lenient does not kill inserts of earlier holders.
type lenient struct{ store }

func (lenient) KillInserts(context.Context, uuid.UUID) error { return nil }

// foundLate are the faults that need hundreds of schedules.
var foundLate = []string{
	"delete before the rows", "no journal", "no kill of old inserts", "no look before a range is settled", "no settling", "the journal after the rows",
}

// Without one of these rules of the protocol, a schedule loses or repeats something.
func TestSimulationFindsBrokenProtocols(t *testing.T) {
	t.Parallel()
	for name, plant := range planted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && slices.Contains(foundLate, name) {
				t.Skip("takes hundreds of schedules")
			}
			for seed := range *simSchedules {
				if w := simulate(t, seed+1, plant); len(w.broken) > 0 {
					t.Logf("schedule %d: %s", seed+1, w.broken[0])
					return
				}
			}
			t.Error("no schedule notices")
		})
	}
}
