package projector

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
)

// simAction is one possible action in a world, with a weight for its frequency.
type simAction struct {
	name   string
	weight int
	do     func(s *schedule)
}

// ordinary are the actions of every world. special are the actions of some worlds. A schedule
// draws few special actions, so that each one meets the others in many ways.
var (
	ordinary = []simAction{
		{"publish", 12, (*schedule).publish},
		{"kill", 4, (*schedule).kill},
		{"start", 4, (*schedule).start},
		{"back up", 1, (*schedule).backUp},
		{"nothing", 4, func(s *schedule) { s.wait(5 * time.Second) }},
	}
	special = []simAction{
		{"stop", 3, (*schedule).stop},
		{"nats down", 2, func(s *schedule) { s.outage("nats") }},
		{"clickhouse down", 2, func(s *schedule) { s.outage("clickhouse") }},
		{"message deleted", 3, (*schedule).delete},
		{"consumers forgotten", 2, (*schedule).forget},
		{"lease lost", 1, (*schedule).loseLease},
		{"tokens lost", 2, (*schedule).loseTokens},
		{"stream made anew", 1, (*schedule).renew},
		{"stream purged", 1, (*schedule).purge},
		{"stream restored", 2, (*schedule).restoreStream},
		{"message replaced", 1, (*schedule).replace},
		{"ledger restored", 3, (*schedule).restoreLedger},
		{"table restored", 2, (*schedule).restoreTable},
		{"insert left running", 3, (*schedule).leaveRunning},
		{"lease asked for", 2, (*schedule).askForLease},
	}
)

// wait lets up to d of virtual time pass.
func (s *schedule) wait(d time.Duration) { time.Sleep(time.Duration(s.dice.Int64N(int64(d)))) }

// aStream draws a stream.
func (s *schedule) aStream() *simStream { return s.streams[s.dice.IntN(len(s.streams))] }

func (s *schedule) publish() {
	s.with(func() {
		for range 1 + s.dice.IntN(20) {
			m, partition := s.message()
			if s.dice.IntN(10) == 0 {
				partition++ // the same event under two sessions
			}
			s.streams[partition%len(s.streams)].append(m)
		}
	})
}

// message draws a producer's message, and the number of its stream.
func (s *schedule) message() (simSent, int) {
	r := s.dice
	id, variant := s.published, 0
	s.published++
	switch n := r.IntN(24); {
	case n < 3: // a repeat
		id = r.IntN(id + 1)
	case n < 5: // another event with a known id
		id, variant = r.IntN(id+1), 1
	case n < 7 && s.secrets: // a few redactions, some with the id of another event
		redacted, number := r.IntN(6), r.IntN(simSecrets)
		return simSent{projectortest.Redaction(s.tb, redacted, simSecret(number)).Binary(), -1, number}, redacted
	case n < 10 && s.secrets: // a message with a secret, half of them repeats
		number := r.IntN(simSecrets)
		holder := 1000 + 10*number + r.IntN(10)
		return simSent{projectortest.Foreign(holder, `{"note":"`+simSecret(number)+`"}`).Binary(), number, -1}, holder
	}
	m := projectortest.Event(id, variant).Binary()
	if r.IntN(15) == 0 {
		m.Data = []byte(strings.Repeat("?", 1+r.IntN(5)))
	}
	return simSent{m, -1, -1}, id
}

const simSecrets = 3

func simSecret(number int) string { return fmt.Sprintf("%d-%s", number, projectortest.Secret) }

func (s *schedule) kill() {
	if m := s.some(); m != nil {
		m.each((*process).kill)
	}
}

// stop suspends a machine, half the time for longer than the lease lasts.
func (s *schedule) stop() {
	m := s.some()
	if m == nil {
		return
	}
	m.each((*process).stop)
	s.start()
	s.wait(25 * time.Second)
	m.each((*process).goOn)
}

func (s *schedule) outage(server string) {
	d := time.Duration(s.dice.Int64N(int64(30 * time.Second)))
	s.with(func() {
		s.down[server] = time.Now().Add(d)
		if server == "clickhouse" {
			s.tables.restart(s.dice)
		}
	})
}

func (s *schedule) delete() {
	stream := s.aStream()
	s.with(func() {
		if n := len(stream.messages); n > 0 {
			// The newest messages are the important ones.
			stream.take(stream.messages[n-1-min(s.dice.IntN(n), s.dice.IntN(n))].Position.StreamSeq, stream.deleted)
		}
	})
}

func (s *schedule) forget() {
	stream := s.aStream()
	s.with(func() { clear(stream.consumers) })
}

// pending returns the range in the journal of a stream.
func (s *schedule) pending(stream *simStream) *ledger.Range {
	var entry lease.Entry
	if e, ok := s.bucket.entries[lease.KeyOf(stream.name)]; ok && json.Unmarshal(e.value, &entry) == nil {
		return entry.Pending
	}
	return nil
}

func (s *schedule) loseLease() {
	stream := s.aStream()
	s.with(func() {
		s.journalLost = true
		if r := s.pending(stream); r != nil && r.Last > s.committed(stream) {
			s.unjournalled = append(s.unjournalled, *r)
		}
		delete(s.bucket.entries, lease.KeyOf(stream.name))
	})
}

func (s *schedule) loseTokens() {
	s.with(func() { s.tables.forget(nil) })
}

func (s *schedule) renew() {
	stream := s.aStream()
	s.with(func() {
		s.renewed = true
		stream.renew()
	})
	s.publish()
}

// purge drops messages as a retention limit does.
func (s *schedule) purge() {
	stream := s.aStream()
	s.with(func() {
		if n := len(stream.messages); n > 0 {
			stream.purge(stream.messages[s.dice.IntN(n)].Position.StreamSeq)
		}
	})
}

// restoreStream restores an older copy, to which producers then publish. The copy is from some
// time ago, or from just before the current write.
func (s *schedule) restoreStream() {
	stream := s.aStream()
	s.with(func() {
		if stream.last == 0 {
			return
		}
		to := stream.last - uint64(s.dice.IntN(int(min(stream.last, 30))))
		if s.dice.IntN(2) == 0 {
			to = max(to, min(s.committed(stream), stream.last))
		}
		stream.restore(to)
	})
	if s.dice.IntN(2) == 0 {
		s.publish()
		s.publish()
	}
}

// replace restores a stream while no projector runs. The last committed sequences then hold
// other messages.
func (s *schedule) replace() {
	s.killAll()
	stream := s.aStream()
	s.with(func() {
		s.tables.restart(s.dice)
		commits := s.tables.newest(stream.incarnation)
		if len(commits) == 0 {
			return
		}
		seq := commits[0].First + uint64(s.dice.IntN(int(commits[0].Last-commits[0].First)+1))
		m, _ := s.message()
		stream.replace(seq, m)
	})
	s.start()
}

func (s *schedule) backUp() {
	s.with(func() { s.kept = append(s.kept, s.tables.copied()) })
}

// restoreTables restores some tables from a backup, while the server is down. The server has
// the tokens of now, or of the backup.
func (s *schedule) restoreTables(tables ...string) {
	if len(s.kept) == 0 {
		s.backUp()
		return
	}
	s.with(func() {
		s.restored = true
		s.tables.restart(s.dice)
		s.down["clickhouse"] = time.Now().Add(time.Second + time.Duration(s.dice.Int64N(int64(10*time.Second))))
		old := s.kept[s.dice.IntN(len(s.kept))].copied()
		for _, table := range tables {
			if table == "commits" {
				s.tables.commits = old.commits
				for _, stream := range s.streams {
					s.uncut = append(s.uncut, ledger.Range{Incarnation: stream.incarnation, First: s.committed(stream) + 1, Last: stream.last})
				}
			} else {
				s.lose(table, old)
				s.tables.tables[table] = old.tables[table]
			}
		}
		if s.dice.IntN(2) == 0 {
			s.tables.forget(old.tokens)
		}
	})
}

// lose records the rows that an older copy of a table lacks.
func (s *schedule) lose(table string, old *simLedger) {
	if s.lost[table] == nil {
		s.lost[table] = make(map[simPlace]bool)
	}
	kept := old.final(table)
	for at := range s.tables.final(table) {
		if !kept[at] {
			s.lost[table][at] = true
		}
	}
}

var simTables = []string{"events", "log_items", "redactions", "duplicates", "quarantine", "commits"}

// restoreLedger restores all tables. Half the time no query reaches the server before its
// restart.
func (s *schedule) restoreLedger() {
	s.restoreTables(simTables...)
	if s.dice.IntN(2) == 0 {
		time.Sleep(11 * time.Second)
	}
}

// restoreTable restores one table, with stopped projectors, as in the runbook.
func (s *schedule) restoreTable() {
	for _, m := range s.running() {
		m.each((*process).kill)
	}
	s.restoreTables(simTables[s.dice.IntN(len(simTables))])
	s.start()
}

// leaveRunning kills a machine while the server still runs its inserts, and then changes the
// messages of these inserts.
func (s *schedule) leaveRunning() {
	late := s.odds.late
	s.with(func() { s.odds.late = 0.7 })
	s.publish()
	s.wait(time.Second)
	s.with(func() { s.odds.late = late })
	for _, m := range s.running() {
		m.each((*process).kill)
	}
	switch s.dice.IntN(4) {
	case 0:
		s.delete()
	case 1:
		s.restoreStream()
	}
	s.start()
}

// askForLease asks for the lease of a stream, like a rebuild before its swap, and holds
// the lease for a while. Only one process asks at a time. Half of these processes die.
func (s *schedule) askForLease() {
	if slices.ContainsFunc(s.askers, func(c *process) bool { return !c.gone() }) {
		return
	}
	i := s.dice.IntN(len(s.streams))
	name := fmt.Sprint("rebuild-", len(s.former))
	c, keep := s.newProcess(name, i), time.Duration(s.dice.Int64N(int64(8*time.Second)))
	c.run(func(ctx context.Context) error {
		kv := simKeyValue{process: c}
		var own *lease.Lease
		var held context.Context
		for own == nil {
			var err error
			own, held, err = lease.Claim{KV: kv, Key: lease.KeyOf(s.streams[i].name), Owner: name, Timing: simTiming, Log: slog.New(slog.DiscardHandler)}.Request(ctx)
			if err != nil && pause(ctx, time.Second) != nil {
				return nil
			}
		}
		s.note("lease handed over")
		_ = pause(held, keep)
		_ = own.Release(context.WithoutCancel(ctx))
		return nil
	})
	s.former = append(s.former, &machine{name: name, parts: []*process{c}})
	s.askers = append(s.askers, c)
	if s.dice.IntN(2) == 0 {
		s.wait(10 * time.Second)
		c.kill()
	}
}
