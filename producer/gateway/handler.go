package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// Path is the path of the events.
const Path = "/v1/events"

// maxTogether is the largest number of events that are stored together.
const maxTogether = 1000

// Handler answers POST /v1/events, GET /v1/receipts, and POST /v1/logs and /v1/traces. Safe for concurrent use. The order of a request's events
// is kept. Nothing is kept between requests: an event is in the stream when the answer says
// so, and a crash of the gateway loses nothing that was answered.
type Handler struct {
	config Config
	store  *store
	memory *memory
	slots  chan struct{} // one element for each request under way
}

// New returns a handler, or the error of [Config.Validate].
func New(c Config) (*Handler, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Handler{config: c, store: newStore(c.JetStream, c.StoreTimeout), memory: &memory{most: int64(c.MaxMemory)}, slots: make(chan struct{}, c.MaxRequests)}, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case ReceiptsPath:
		h.serveReceipts(w, r)
		return
	case LogsPath, TracesPath:
		h.serveTelemetry(w, r)
		return
	}
	answer, p := h.answer(w, r)
	defer h.limitAnswer(w)()
	if p != nil {
		if p.Status >= http.StatusInternalServerError && h.config.Log != nil {
			h.config.Log.Warn("events over HTTP were not stored", "event", "gateway_store", "code", p.Code, "detail", p.Detail)
		}
		p.write(w)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", answer)
}

// limitAnswer limits the time in which a client reads its answer. The returned function ends the limit
// after the answer, so that the connection serves further requests.
func (h *Handler) limitAnswer(w http.ResponseWriter) func() {
	control := http.NewResponseController(w)
	if control.SetWriteDeadline(time.Now().Add(h.config.BodyTimeout)) != nil {
		return func() {} // a recorder of a test
	}
	return func() {
		_ = control.Flush()
		_ = control.SetWriteDeadline(time.Time{})
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) (*Answer, *Problem) {
	tenant, o, p := h.guard(r)
	if p != nil {
		return nil, p
	}
	release, p := h.enter()
	if p != nil {
		return nil, p
	}
	defer release()
	room := &lease{memory: h.memory}
	defer room.release()
	body, p := h.readBody(w, r, room)
	if p != nil {
		return nil, p
	}
	events, p := readEvents(r.Header, body, tenant, time.Now(), h.config.MaxEvents)
	if p != nil {
		return nil, p
	}
	// An event may be stored although its client is gone; a batch is never cut in half.
	return h.settle(context.WithoutCancel(r.Context()), events, o)
}

// settle stores the valid events and gives each event its verdict.
func (h *Handler) settle(ctx context.Context, events []judged, o options) (*Answer, *Problem) {
	a := verdictsOf(events)
	var valid []int
	for i := range events {
		if len(events[i].violations) == 0 {
			valid = append(valid, i)
		}
	}
	if o.all {
		if p := h.checkTogether(ctx, events, valid); p != nil {
			return nil, p.with(a)
		}
	}
	switch {
	case o.dryRun:
		for _, i := range valid {
			a.Events[i].Outcome = Valid
		}
	case o.all && a.Refused > 0:
	case len(valid) > 0:
		if f := h.storeValid(ctx, events, valid, a, o.all); f != nil {
			return nil, f.problem().with(a)
		}
	}
	if a.Refused > 0 {
		return nil, refusedProblem(a, o).with(a)
	}
	return a, nil
}

// verdictsOf gives refused events their verdict, and counts every other event as not stored.
func verdictsOf(events []judged) *Answer {
	a := &Answer{Events: make([]Verdict, len(events))}
	for i, j := range events {
		v := Verdict{Index: i, Outcome: NotStored}
		if j.event != nil {
			v.ID, v.Source = text(j.event.ID), text(j.event.Source)
		}
		if len(j.violations) > 0 {
			v.Outcome, v.Violations = Refused, texts(j.violations)
			a.Refused++
		}
		a.Events[i] = v
	}
	return a
}

// text shortens a text of an event for an answer. JSON needs UTF-8.
func text(s string) string { return strings.ToValidUTF8(schema.Clip(s), "\uFFFD") }

func texts(found schema.Violations) schema.Violations {
	list := make(schema.Violations, len(found))
	for i, v := range found {
		valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
		list[i] = &schema.Violation{Code: v.Code, Pointer: valid(v.Pointer), Found: valid(v.Found), Fix: valid(v.Fix)}
	}
	return list
}

// checkTogether checks that one atomic batch can hold the events.
func (h *Handler) checkTogether(ctx context.Context, events []judged, valid []int) *Problem {
	if len(events) > maxTogether {
		return problem(http.StatusRequestEntityTooLarge, "too_many", fmt.Sprintf("?all came with %d events", len(events)),
			fmt.Sprintf("send at most %d events with ?all; nothing was stored", maxTogether))
	}
	for _, i := range valid {
		if first := events[valid[0]].message.Subject; h.store.stream(ctx, events[i].message.Subject) != h.store.stream(ctx, first) {
			return problem(http.StatusRequestEntityTooLarge, "several_partitions", fmt.Sprintf("?all came with events of several partitions: events %d and %d", valid[0], i),
				"send the events of one session with ?all; nothing was stored")
		}
	}
	return nil
}

// storeValid stores the valid events and returns the first failure.
func (h *Handler) storeValid(ctx context.Context, events []judged, valid []int, a *Answer, together bool) *failure {
	messages := make([]schema.Message, len(valid))
	for at, i := range valid {
		messages[at] = events[i].message
	}
	var first *failure
	for at, p := range h.store.put(ctx, messages, together) {
		v := &a.Events[valid[at]]
		switch {
		case p.failure == nil:
			v.Outcome, v.Stream, v.Sequence = Stored, p.stream, p.sequence
			a.Stored++
		case p.failure.violation != nil:
			v.Outcome, v.Violations = Refused, schema.Violations{p.failure.violation}
			a.Refused++
		default:
			v.Outcome = p.failure.outcome
			if first == nil || first.outcome == NotStored {
				first = p.failure
			}
		}
	}
	return first
}

// refusedProblem names the first refused event and its first violation.
func refusedProblem(a *Answer, o options) *Problem {
	for _, v := range a.Events {
		if v.Outcome != Refused {
			continue
		}
		rest := fmt.Sprintf("%d events are stored", a.Stored)
		switch {
		case o.dryRun:
			rest = "nothing was stored, because it was a dry run"
		case o.all:
			rest = "nothing was stored"
		}
		first := v.Violations[0]
		detail := fmt.Sprintf("event %d (%s) was refused: %s at %s: %s; %s", v.Index, v.ID, first.Code, first.Pointer, first.Found, rest)
		return problem(http.StatusUnprocessableEntity, "refused", detail, first.Fix)
	}
	return nil
}
