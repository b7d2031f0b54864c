package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// defaultTenant is the tenant of the suite's sessions.
const defaultTenant = "conformance"

// defaultPatience is the longest time without progress of a projector.
const defaultPatience = 15 * time.Second

// errNotProjected means that no projector projects the events in the stream.
var errNotProjected = errors.New("the events are in the stream, but no projector runs: start `ctxledger project` or `ctxledger up`, then run this command again")

// Target is the installation that the suite tests.
type Target struct {
	// JetStream publishes to the installation's stream. Required by Run.
	JetStream jetstream.JetStream
	// Ledger reads the installation's tables. Read rights are enough. Required.
	Ledger *ledger.Ledger
	// Tenant is the tenant of the recorded sessions. Defaults to "conformance".
	Tenant string
	// Cases are the cases of the run. Defaults to all.
	Cases []Case
	// Patience limits the wait for a projector without progress. Defaults to 15 s.
	Patience time.Duration
}

// Run publishes the events of the cases, each case in a new session conformance-<uuid>. Run waits
// until the installation's projector has committed the events, and checks the rows. Run makes no
// other changes and can run at any time, also in parallel. progress receives the number of
// finished checks and may be nil. The report contains the failed cases. The error is an error of
// a server, or errNotProjected.
func Run(ctx context.Context, t Target, progress func(done, total int)) (Report, error) {
	r, err := newRun(ctx, t, progress)
	if err != nil {
		return Report{}, err
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return r.publish(ctx, false) },
		r.remember,
		func(ctx context.Context) error { return r.publish(ctx, true) },
		r.check,
	} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	return r.report(), nil
}

// newRun prepares a trial of every case.
func newRun(ctx context.Context, t Target, progress func(done, total int)) (*run, error) {
	r := &run{Target: t.withDefaults(), progress: progress, incarnations: make(map[string]uuid.UUID)}
	levels, err := streamio.ReadLevels(ctx, r.JetStream, r.Ledger)
	if err != nil {
		return nil, err
	}
	for _, level := range levels {
		r.incarnations[level.Stream] = level.Incarnation
	}
	for _, c := range r.Cases {
		r.trials = append(r.trials, newTrial(c, r.Tenant))
	}
	return r, nil
}

func (r *run) report() Report {
	report := Report{Tenant: r.Tenant}
	for _, t := range r.trials {
		report.Cases = append(report.Cases, t.result)
	}
	report.conclude()
	return report
}

func (t Target) withDefaults() Target {
	if t.Tenant == "" {
		t.Tenant = defaultTenant
	}
	if t.Cases == nil {
		t.Cases = Cases()
	}
	if t.Patience == 0 {
		t.Patience = defaultPatience
	}
	return t
}

// run is one call of Run.
type run struct {
	Target
	incarnations map[string]uuid.UUID // incarnations by stream
	trials       []*trial
	progress     func(done, total int)
}

// trial is one case in a separate session.
type trial struct {
	Case
	id       string // id of this trial; part of all its ids
	tenant   string
	messages []message
	stream   string            // stream of the trial's session
	earlier  map[string]answer // answers of the checks that must stay unchanged, by name
	result   Result
}

func newTrial(c Case, tenant string) *trial {
	id := uuid.NewString()
	return &trial{Case: c, id: id, tenant: tenant, earlier: make(map[string]answer),
		result: Result{Case: c.Name, Title: c.Title, Source: c.Source, Session: "conformance-" + id}}
}

// publish sends the first events of every trial, or the later ones. publish returns when they are
// projected.
func (r *run) publish(ctx context.Context, later bool) error {
	last := make(streamio.LastSequences)
	for _, t := range r.trials {
		fill := strings.NewReplacer("$RUN", t.id, "$SESSION", t.result.Session, "$SOURCE", "urn:example:runtime:"+t.id, "$TENANT", t.tenant)
		for i := range t.Events {
			e := &t.Events[i]
			if e.Later != later {
				continue
			}
			m, err := e.message(fill)
			if err != nil {
				return fmt.Errorf("case %s: %w", t.Name, err)
			}
			m.header[nats.MsgIdHdr] = []string{t.id + ":" + strconv.Itoa(i)}
			ack, err := r.JetStream.PublishMsg(ctx, &nats.Msg{Subject: m.subject, Header: m.header, Data: m.data})
			if err != nil {
				return fmt.Errorf("publish case %s: %w", t.Name, err)
			}
			m.sequence, t.stream, last[ack.Stream] = ack.Sequence, ack.Stream, ack.Sequence
			t.messages = append(t.messages, m)
		}
	}
	if len(last) == 0 {
		return nil
	}
	committed, err := streamio.AwaitCommit(ctx, r.JetStream, r.Ledger, last, r.Patience, nil)
	if err == nil && !committed {
		err = errNotProjected
	}
	return err
}

// remember runs the checks that must stay unchanged.
func (r *run) remember(ctx context.Context) error {
	for _, t := range r.trials {
		for _, c := range t.Checks {
			if !c.Unchanged {
				continue
			}
			a, err := c.ask(ctx, r.Ledger, t.parameters())
			if err != nil {
				return fmt.Errorf("case %s: %w", t.Name, err)
			}
			t.earlier[c.Name] = a
		}
	}
	return nil
}

func (r *run) check(ctx context.Context) error {
	done, total := 0, 0
	for _, t := range r.trials {
		total += len(t.Checks)
	}
	for _, t := range r.trials {
		parameters, err := t.allParameters(r.incarnations[t.stream])
		if err != nil {
			return fmt.Errorf("case %s: %w", t.Name, err)
		}
		for _, c := range t.Checks {
			done++
			if r.progress != nil {
				r.progress(done, total)
			}
			if !c.OnRun || !t.refuses() && strings.HasPrefix(c.Name, "refused") {
				continue
			}
			a, err := c.ask(ctx, r.Ledger, parameters)
			if err != nil {
				return fmt.Errorf("case %s: %w", t.Name, err)
			}
			if c.Unchanged {
				a.expected = t.earlier[c.Name].found
			}
			t.result.Findings = append(t.result.Findings, c.finding(a))
		}
	}
	return nil
}

// refuses reports whether an event of the trial must be refused.
func (t *trial) refuses() bool {
	for i := range t.Events {
		if t.Events[i].Refused != "" {
			return true
		}
	}
	return false
}

func (t *trial) parameters() map[string]string {
	return map[string]string{"tenant": t.tenant, "session_id": t.result.Session, "run": t.id}
}

// allParameters adds the parameters of the common checks.
func (t *trial) allParameters(incarnation uuid.UUID) (map[string]string, error) {
	var recorded, sequences, codes, subjects, headers, digests []string
	for i := range t.messages {
		m := &t.messages[i]
		if m.event.Refused == "" {
			line, err := m.line()
			if err != nil {
				return nil, fmt.Errorf("event %s: %w", m.event.Label, err)
			}
			recorded = append(recorded, quote(line))
			continue
		}
		header, err := json.Marshal(m.header)
		if err != nil {
			return nil, err
		}
		sequences = append(sequences, strconv.FormatUint(m.sequence, 10))
		codes = append(codes, quote(m.event.Refused))
		subjects = append(subjects, quote(m.subject))
		headers = append(headers, quote(string(header)))
		digests = append(digests, quote(digest(m.data)))
	}
	p := t.parameters()
	p["incarnation"] = incarnation.String()
	for name, list := range map[string][]string{"recorded": recorded, "sequences": sequences, "codes": codes, "subjects": subjects, "headers": headers, "digests": digests} {
		p[name] = "[" + strings.Join(list, ",") + "]"
	}
	return p, nil
}

// quote returns a string as a ClickHouse literal within an array.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
