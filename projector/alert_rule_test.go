package projector

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
)

// A rule is an alert of deploy/grafana on the metrics of a registry. Its expression is evaluated in
// the forms that the rules have: one selector with a limit, a ratio of two, and the absence of one.
// An increase is what a counter has counted since the start of window.
type rule struct {
	t        *testing.T
	name     string
	expr     string
	registry prometheus.Gatherer
	window   map[string]float64 // counters at its start, by their text; nil is the start of the process
}

var (
	selector = regexp.MustCompile(`ctxledger_projector_([a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z]+)(=~?)"([^"]*)"`)
	limit    = regexp.MustCompile(`(==|>) ([0-9.]+)$`)
)

// ruleOf finds a rule by its name.
func ruleOf(t *testing.T, name string, registry prometheus.Gatherer) rule {
	t.Helper()
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			if r.Alert == name {
				return rule{t: t, name: name, expr: r.Expr, registry: registry}
			}
		}
	}
	t.Fatalf("there is no alert %s", name)
	return rule{}
}

// registryOf returns the metrics of a projector as a server scrapes them.
func registryOf(p *Projector) prometheus.Gatherer {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p.config.Metrics)
	return registry
}

// fires reports whether the expression of the rule has a result.
func (r rule) fires() bool {
	r.t.Helper()
	found := selector.FindAllStringSubmatch(r.expr, -1)
	values := func(i int) []float64 { return r.values(found[i][1], found[i][2]) }
	end := limit.FindStringSubmatch(r.expr)
	switch {
	case strings.HasPrefix(r.expr, "absent("):
		return len(values(0)) == 0
	case r.name == "CtxledgerStreamNearLimit":
		return len(values(1)) > 0 && sum(values(0))/sum(values(1)) > 0.85
	case r.name == "CtxledgerQuarantine":
		return sum(values(0)) > 0.01*sum(values(1))
	case r.name == "CtxledgerRedactionStopsEvents":
		return sum(values(0)) > 20
	case end == nil || len(found) != 1:
		r.t.Fatalf("%s has an expression of another form: %s", r.name, r.expr)
	}
	bound, err := strconv.ParseFloat(end[2], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, value := range values(0) {
		if end[1] == "==" && value == bound || end[1] == ">" && value > bound {
			return true
		}
	}
	return false
}

// A series is one metric of a registry with its value.
type series struct {
	name    string // without the prefix
	labels  map[string]string
	counter bool
	value   float64
}

func (s series) key() string { return fmt.Sprint(s.name, s.labels) }

// gathered returns all counters and gauges.
func (r rule) gathered() (list []series) {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			s := series{name: strings.TrimPrefix(family.GetName(), "ctxledger_projector_"), labels: make(map[string]string)}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			if s.counter = m.GetCounter() != nil; s.counter {
				s.value = m.GetCounter().GetValue()
			} else {
				s.value = m.GetGauge().GetValue()
			}
			list = append(list, s)
		}
	}
	return list
}

// values are those of the series that a selector selects.
func (r rule) values(name, matchers string) (list []float64) {
	r.t.Helper()
	for _, s := range r.gathered() {
		if s.name == name && selects(matchers, s.labels) {
			list = append(list, s.value-r.window[s.key()])
		}
	}
	return list
}

// counters are the values of all counters at the moment.
func (r rule) counters() map[string]float64 {
	r.t.Helper()
	all := make(map[string]float64)
	for _, s := range r.gathered() {
		if s.counter {
			all[s.key()] = s.value
		}
	}
	return all
}

func selects(matchers string, labels map[string]string) bool {
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		value := labels[m[1]]
		if m[2] == "=" && value != m[3] || m[2] == "=~" && !regexp.MustCompile("^(?:"+m[3]+")$").MatchString(value) {
			return false
		}
	}
	return true
}

func sum(list []float64) (total float64) {
	for _, value := range list {
		total += value
	}
	return total
}

// TestFactsThatDoNotArriveFire: the alert of lost facts fires for numbered facts that did not arrive within
// five minutes of the stream's time, and not before.
func TestFactsThatDoNotArriveFire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, _ := f.measured()
	r := ruleOf(t, "CtxledgerFactsLost", registryOf(p))
	observe := func(sequence int64, after time.Duration) {
		e := projectortest.Event(int(sequence), 0)
		e.Sequence = &sequence
		m := projectortest.At(uint64(sequence), e.Binary())
		m.Position.RecordedAt = projectortest.Stored.Add(after)
		p.builder.noteHoles([]decode.Event{decode.One(m)})
	}
	observe(7, 0)
	observe(10, time.Second)
	observe(11, time.Minute)
	if r.fires() {
		t.Error("the alert fires while the facts may still arrive")
	}
	observe(12, time.Hour)
	if !r.fires() {
		t.Error("the alert does not fire")
	}
}
