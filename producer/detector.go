package producer

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// Detector finds secrets that nobody named, such as package secrets does. It is
// asked for the text of each fact, one line "name: text" for each string and once
// for equal ones, less what the guard knows already. What it finds is withheld
// from that fact on: it is masked, a redaction says so under the value's policy,
// and the guard finds it by itself the next time, in any disguise.
//
// A Detector is safe for concurrent use, keeps no text and is pure, so that it
// neither waits nor fails. Where it panics or takes longer than [WorkTime], the
// fact is refused with a [*WorkError].
type Detector interface {
	Detect(ctx context.Context, text string) []redact.Value
}

// maxDetected is how many detected values a client keeps. One more drops the
// older half: they are found by the detector, should they come again.
const maxDetected = 256

// withheld is what a client withholds: the values of Config.Guard, and what the
// detector found. It is safe for concurrent use.
type withheld struct {
	configured *redact.Guard

	mu       sync.Mutex // guards detected, and writes of known
	detected []redact.Value
	known    atomic.Pointer[redact.Guard]
}

func newWithheld(configured *redact.Guard) *withheld {
	w := &withheld{configured: configured}
	w.known.Store(configured)
	return w
}

// guard is the guard of all values known by now.
func (c *Client) guard() *redact.Guard { return c.withheld.known.Load() }

// detect asks the detector about the fact of e, and reports whether it found
// something. Redactions are made of ids, policies and fingerprints, and are not
// looked at.
func (c *Client) detect(ctx context.Context, e *schema.Event, masked []byte) (bool, error) {
	if c.config.Detector == nil || e.EventType() == schema.TypeRedactionApplied {
		return false, nil
	}
	found, err := work(ctx, func(ctx context.Context) ([]redact.Value, error) {
		return c.config.Detector.Detect(ctx, texts(masked)), nil
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	return c.withheld.add(found), nil
}

// add withholds what was detected, and reports whether there was something new.
// A value that its own policy names is left out: it is no secret.
func (w *withheld) add(found []redact.Value) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.known.Load()
	guard := before
	if len(w.detected)+len(found) > maxDetected {
		w.detected = append([]redact.Value(nil), w.detected[len(w.detected)/2:]...)
		guard, _ = w.configured.With(w.detected...) // all were taken before
	}
	for _, v := range found[:min(len(found), maxDetected/2)] {
		if larger, err := guard.With(v); err == nil && larger.Len() > guard.Len() {
			guard, w.detected = larger, append(w.detected, v)
		}
	}
	w.known.Store(guard)
	return guard != before
}

// texts are the strings of a JSON document, one a line behind its name. What is
// made by machines and for machines, ids and digests, looks like a secret and is
// none; it is left out.
func texts(data []byte) string {
	var out strings.Builder
	name, seen := "", make(map[string]bool)
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.ReadToken()
		if err != nil {
			return out.String()
		}
		if token.Kind() != '"' {
			continue
		}
		if parent, n := dec.StackIndex(dec.StackDepth()); parent == '{' && n%2 == 1 {
			name = token.String()
		} else if line := name + ": " + token.String() + "\n"; !machineMade(name) && !seen[line] {
			seen[line] = true
			out.WriteString(line)
		}
	}
}

func machineMade(name string) bool {
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "digest")
}
