package projector

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

var (
	simSeed      = flag.Uint64("sim.seed", envNumber("CTXLEDGER_SIM_SEED", 0), "run the one schedule of this seed")
	simSchedules = flag.Uint64("sim.schedules", envNumber("CTXLEDGER_SIM_SCHEDULES", 2000), "how many schedules to simulate")
	simFirst     = flag.Uint64("sim.first", 1, "the seed of the first of them")
	simFavour    = flag.String("sim.favour", "", "special actions that happen in all of them, by their names with commas between")
	simLogged    = flag.Bool("sim.log", false, "print what is done to the servers and what the projectors log")
)

func envNumber(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// TestSimulation runs projectors through schedules of faults and compares the tables with the
// streams.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, n := *simFirst, *simSchedules
	var plant func(*schedule)
	if *simFavour != "" {
		plant = func(s *schedule) { s.favour(strings.Split(*simFavour, ",")...) }
	}
	if testing.Short() {
		n = min(n, 50)
	}
	if *simSeed > 0 {
		first, n = *simSeed, 1
	}
	var mu sync.Mutex
	faults := make(map[string]int)
	shares := uint64(runtime.GOMAXPROCS(0))
	t.Run("schedules", func(t *testing.T) {
		for share := range shares {
			t.Run(fmt.Sprint(share), func(t *testing.T) {
				t.Parallel()
				for seed := first + share; seed < first+n && !t.Failed(); seed += shares {
					w := simulate(t, seed, plant)
					mu.Lock()
					for fault, times := range w.faults {
						faults[fault] += times
					}
					mu.Unlock()
					for _, what := range w.broken {
						t.Errorf("seed %d: %s", seed, what)
					}
					if t.Failed() {
						t.Errorf("to run it again: go test ./projector -run 'TestSimulation$' -sim.favour '%s' -sim.seed %d", *simFavour, seed)
					}
				}
			})
		}
	})
	t.Logf("%d schedules: %v", n, faults)
}

// TestSimulationOfSchedulesThatFailed repeats schedules that found a fault. The first twelve
// found faults of the projector, the others of the oracle.
func TestSimulationOfSchedulesThatFailed(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		seed    uint64
		favour  string
		because string
	}{
		{15019, "", "a message is refused for a value of another partition after its row in events was lost"},
		{24685, "", "the same"},
		{36977, "", "the same, and another repeats it"},
		{56258, "", "the same"},
		{41256, "", "a refused message lost its row in quarantine before its deletion, and another after it"},
		{56444, "", "a journal is lost, and then the last message of its range deleted"},
		{80172, "", "a ledger is replaced by an older copy between the check of a batch and its commit"},
		{190560, "", "a process is suspended after it opened the stream, and its successor commits beyond what it saw"},
		{136598, "", "messages expire while the rows of their range are written again"},
		{140855, "", "a ledger is replaced by an older copy before the first commit of a stream"},
		{116729, "", "a repeat of a message that was deleted by hand is derived again with its range"},
		{145458, "", "a message counted in its commit, and is refused since the rows of its range were written again"},
		{227, "lease lost,stream restored,message deleted", "what stands in the place of a committed message expires unseen"},
		{11565, "", "what stands in the place of a committed message is deleted unseen"},
		{23935, "", "a stream is made anew in the moment in which it is found to have lost messages"},
		{170431, "", "the same"},
		{60028, "", "a redaction of a stream that is gone withholds, and its row in events was lost"},
		{36798, "", "the first message of a stream is deleted for its value, and its row in quarantine lost"},
		{4833, "", "a redaction and a message with its value expire before their commit"},
		{11520, "", "the same"},
		{53309, "", "a suspended writer writes a row of a message that is refused since"},
		{64239, "", "the first message of an event was in a stream that is gone, and its row was lost"},
		{40013, "", "a message is deleted for its value, and a backup has its uncommitted row in events"},
		{120048, "", "a stream is made anew between the look at a message with a withheld value and its deletion"},
		{122277, "", "the same"},
	} {
		for _, what := range simulate(t, of.seed, func(s *schedule) { s.favour(strings.Split(of.favour, ",")...) }).broken {
			t.Errorf("seed %d (%s): %s", of.seed, of.because, what)
		}
	}
}

// simulate runs the schedule of a seed to its end, after plant has changed it. A schedule that
// does not end stops the process and is named.
func simulate(t *testing.T, seed uint64, plant func(*schedule)) (w *world) {
	watchdog := time.AfterFunc(testPatience, func() { panic(fmt.Sprintf("the schedule of seed %d does not end", seed)) })
	defer watchdog.Stop()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed)
		s := newSchedule(w)
		if plant != nil {
			plant(s)
		}
		s.run()
	})
	return w
}

// schedule is a sequence of actions in a world.
type schedule struct {
	*world
	dice      *rand.Rand
	actions   []simAction
	machines  map[string]*machine
	former    []*machine
	askers    []*process // processes that ask for a lease
	published int
	secrets   bool         // some messages have secrets that redactions withhold
	kept      []*simLedger // backups
	// Actions that the oracle must know.
	renewed, restored, journalLost bool
	lost                           map[string]map[simPlace]bool // by table, rows that an older copy lacks
	unjournalled                   []ledger.Range               // ranges whose journal was lost before their commit
	uncut                          []ledger.Range               // ranges whose cut commits has forgotten
}

// machine is a group of processes that run and die together, one for each stream.
type machine struct {
	name  string
	parts []*process
}

func newSchedule(w *world) *schedule {
	s := &schedule{world: w, dice: w.roll("schedule"), machines: make(map[string]*machine), lost: make(map[string]map[simPlace]bool)}
	r := s.dice
	chance := func(most float64) float64 { return []float64{0, most / 5, most}[r.IntN(3)] }
	w.odds = odds{lost: chance(0.05), mute: chance(0.1), refused: chance(0.2), late: chance(0.1), missed: chance(0.02)}
	if r.IntN(4) == 0 {
		w.tables.window = 5
	}
	n := schema.Partitions(1)
	if r.IntN(5) == 0 {
		n = 2
	}
	for _, stream := range n.EventStreams() {
		w.streams = append(w.streams, newSimStream(w, stream.Name))
		if _, err := w.bucket.put(stream.Name, []byte(lease.Fence), 0); err != nil {
			w.tb.Fatal(err)
		}
	}
	s.secrets = r.IntN(3) == 0
	s.actions = slices.Clone(ordinary)
	for range r.IntN(4) {
		s.actions = append(s.actions, special[r.IntN(len(special))])
	}
	return s
}

// favour makes some special actions frequent in this schedule.
func (s *schedule) favour(names ...string) {
	for _, a := range special {
		if slices.Contains(names, a.name) {
			s.actions = append(s.actions, a)
		}
	}
}

func (s *schedule) run() {
	s.publish()
	s.start()
	for range 10 + s.dice.IntN(30) {
		action := s.draw()
		s.say(action.name)
		action.do(s)
		time.Sleep(time.Duration(s.dice.Int64N(int64(1500 * time.Millisecond))))
		if s.ended() {
			break
		}
	}
	s.settle()
	s.with(s.check)
	all := s.processes()
	for _, c := range all {
		c.cancel()
	}
	close(s.over)
	for _, c := range all {
		c.goOn()
		<-c.done
	}
}

// processes lists all processes that ever ran, oldest first.
func (s *schedule) processes() (list []*process) {
	for _, m := range s.former {
		list = append(list, m.parts...)
	}
	for _, name := range names {
		if m := s.machines[name]; m != nil {
			list = append(list, m.parts...)
		}
	}
	return list
}

// say prints the next action, and the ends of the streams.
func (s *schedule) say(action string) {
	if !*simLogged {
		return
	}
	s.with(func() {
		for _, stream := range s.streams {
			pending := ledger.Range{}
			if r := s.pending(stream); r != nil {
				pending = *r
			}
			fmt.Printf("%s %s: %s has %d messages, %d to %d; committed to %d, journalled %d to %d\n", time.Now().Format("04:05.000"), action,
				stream.name, len(stream.messages), stream.first, stream.last, s.committed(stream), pending.First, pending.Last)
		}
	})
}

func (s *schedule) note(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fault]++
}

func (s *schedule) draw() simAction {
	total := 0
	for _, a := range s.actions {
		total += a.weight
	}
	n := s.dice.IntN(total)
	for _, a := range s.actions {
		if n -= a.weight; n < 0 {
			s.note(a.name)
			return a
		}
	}
	panic("no action")
}

// with changes the servers.
func (s *schedule) with(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// names are the names of the machines.
var names = []string{"a", "b", "c"}

// start starts a stopped machine again under its name.
func (s *schedule) start() {
	name := names[s.dice.IntN(len(names))]
	if old := s.machines[name]; old != nil && !old.gone() {
		return
	}
	s.restart(name)
}

// restart leaves a pause between two machines of one name.
func (s *schedule) restart(name string) {
	if old := s.machines[name]; old != nil {
		time.Sleep(200 * time.Millisecond)
		s.former = append(s.former, old)
	}
	m := &machine{name: name}
	for i := range s.streams {
		c := s.newProcess(name, i)
		c.run(func(ctx context.Context) error {
			for {
				err := c.projector(name).Run(ctx)
				if len(s.streams) == 1 || !errors.Is(err, lease.ErrLost) || ctx.Err() != nil {
					return err
				}
			}
		})
		m.parts = append(m.parts, c)
	}
	s.machines[name] = m
}

func (m *machine) gone() bool {
	for _, c := range m.parts {
		if !c.gone() {
			return false
		}
	}
	return true
}

func (m *machine) each(do func(*process)) {
	for _, c := range m.parts {
		do(c)
	}
}

func (c *process) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead || isDone(c.done)
}

// running lists the machines that are not dead, by name.
func (s *schedule) running() (list []*machine) {
	for _, name := range names {
		if m := s.machines[name]; m != nil && !m.gone() {
			list = append(list, m)
		}
	}
	return list
}

func (s *schedule) some() *machine {
	if list := s.running(); len(list) > 0 {
		return list[s.dice.IntN(len(list))]
	}
	return nil
}

// killAll ends all machines, and waits until none of their requests is in transit.
func (s *schedule) killAll() {
	for _, m := range s.running() {
		m.each((*process).kill)
	}
	time.Sleep(time.Second)
}

// ended records that a process gave up and needs a person.
func (s *schedule) ended() bool {
	return slices.ContainsFunc(s.processes(), func(c *process) bool {
		return isDone(c.done) && c.err != nil && !errors.Is(c.err, lease.ErrLost)
	})
}

// settle ends the faults and waits until the ledger is level.
func (s *schedule) settle() {
	s.with(func() {
		s.calm = true
		clear(s.down)
	})
	for _, m := range s.running() {
		m.each((*process).goOn)
	}
	for range 600 {
		if s.ended() {
			return
		}
		if len(s.running()) == 0 {
			s.restart("a")
		}
		time.Sleep(time.Second)
		level := !slices.ContainsFunc(s.askers, func(c *process) bool { return !c.gone() })
		s.with(func() {
			for _, stream := range s.streams {
				i, _ := stream.at(s.committed(stream) + 1)
				level = level && i == len(stream.messages)
			}
		})
		if level {
			// A new machine finds everything in order.
			s.killAll()
			s.restart("a")
			time.Sleep(30 * time.Second)
			return
		}
	}
	s.with(func() {
		if slices.ContainsFunc(s.askers, func(c *process) bool { return !c.gone() }) {
			s.breaks("who asked for a lease has not had it")
		}
		for _, stream := range s.streams {
			s.breaks("ten minutes after the last fault the ledger has %d of %d", s.committed(stream), stream.last)
		}
	})
}

// committed returns the last sequence of a stream in the ledger.
func (s *schedule) committed(stream *simStream) (last uint64) {
	for _, c := range s.tables.newest(stream.incarnation) {
		last = max(last, c.Last)
	}
	return last
}
