package metrics

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ctxledger/ctxledger/projector/decode"
)

// Metrics count the work of the projectors of a process, and their lag, for Prometheus. Each of a
// projector has the stream as a label. Use one Metrics in the Config of all projectors and register it:
//
//	m := metrics.New()
//	registry.MustRegister(m)
//
// A later projector of the same stream continues the counts. deploy/grafana/README.md describes
// every metric. Safe for concurrent use. A nil Metrics counts nothing.
type Metrics struct {
	messages, duplicates, deleted, gaps  *prometheus.CounterVec
	lost, heads, headFailures            *prometheus.CounterVec
	rows, quarantined, retries           *prometheus.CounterVec
	reintroduced, abandoned              *prometheus.CounterVec
	batchMessages, batchBytes, batchRows *prometheus.HistogramVec
	steps                                *prometheus.HistogramVec
	retention                            prometheus.Counter

	named, tenants *names // of redactions, and of tenants with abandoned batches

	mu   sync.Mutex
	live map[string]func() Gauges // by stream, of the current or last projector
}

// names are the labels with a counter of their own. Safe for concurrent use.
type names struct {
	mu   sync.Mutex
	list map[string]bool
}

const metricPrefix = "ctxledger_projector_"

// The gauges that are read from the projector at each collection.
var (
	lagEventsDesc    = liveDesc("lag_events", "Sequences of the stream that are not in the ledger yet.")
	lagSecondsDesc   = liveDesc("lag_seconds", "Age of the oldest event that is not in the ledger yet, by the stream's time; 0 when level.")
	committedDesc    = liveDesc("committed_sequence", "Last sequence of the stream that is in the ledger.")
	replicasDesc     = liveDesc("replicas_behind", "Replicas of the stream that lack messages or do not answer.")
	bytesDesc        = liveDesc("stream_bytes", "Bytes that the stream takes, in one replica.")
	limitDesc        = liveDesc("stream_limit_bytes", "Limit of the stream in bytes; absent without a limit.")
	leaseHeldDesc    = liveDesc("lease_held", "1 while this process holds the stream's lease.")
	leaseEpochDesc   = liveDesc("lease_epoch", "Epoch of the lease that this process holds.")
	heartbeatAgeDesc = liveDesc("lease_heartbeat_age_seconds", "Time since the lease that this process holds was last renewed.")
	unknownKeysDesc  = liveDesc("unknown_keys", "Missing keys that redactions name.")
	readyDesc        = liveDesc("ready", "1 while this process holds the lease and has recovered.")
	stuckDesc        = liveDesc("stuck", "1 while the projector has work and makes no step.")
	stoppedDesc      = liveDesc("stopped", "1 after the projector gave up, until one projects again, by reason.", "reason")
)

func liveDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+name, help, withStream(labels), nil)
}

// New returns metrics with all counts at zero.
func New() *Metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + name, Help: help}, withStream(labels))
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricPrefix + name, Help: help, Buckets: buckets}, withStream(labels))
	}
	return &Metrics{
		messages:      counters("messages_total", "Messages of the stream that were committed, with duplicates and quarantined messages."),
		rows:          counters("rows_total", "Rows committed, by table.", "table"),
		duplicates:    counters("duplicates_total", "Messages that repeated an event of the ledger."),
		quarantined:   counters("quarantined_total", "Messages that went to quarantine, by their first code.", "code"),
		reintroduced:  counters("reintroduced_total", "Messages with a withheld value, by the redaction that withholds it.", "redaction"),
		deleted:       counters("reintroduced_deleted_total", "Messages deleted from the stream because they held a withheld value."),
		gaps:          counters("sequence_gaps_total", "Sequences that the stream no longer had when they were read."),
		lost:          counters("lost_facts_total", "Numbered facts of producers that did not arrive within five minutes."),
		heads:         counters("heads_total", "Signed heads of the transparency log that were delivered, by destination.", "to"),
		headFailures:  counters("head_failures_total", "Failed attempts to sign a head of the transparency log (to is sign) or to deliver it.", "to"),
		abandoned:     counters("abandoned_batches_total", "Batches that NATS gave up because nobody finished them, by tenant; without one while it is not known.", "tenant"),
		retries:       counters("retries_total", "Failed attempts that are repeated, by the failed part and the server's error code.", "cause", "code"),
		batchMessages: histograms("batch_messages", "Messages of a batch.", prometheus.ExponentialBuckets(1, 4, 9)),
		batchBytes:    histograms("batch_bytes", "Bytes of a batch as received.", prometheus.ExponentialBuckets(1<<10, 4, 9)),
		batchRows:     histograms("batch_rows", "Rows of a batch, all tables.", prometheus.ExponentialBuckets(1, 4, 10)),
		steps: histograms("step_duration_seconds", "Duration of a step of a batch, with its retries.",
			prometheus.ExponentialBuckets(0.0005, 3, 11), "step"),
		retention: prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + "retention_failures_total", Help: "Failed attempts to apply the retention of the installation."}),
		live:      make(map[string]func() Gauges),
		named:     &names{list: make(map[string]bool)},
		tenants:   &names{list: make(map[string]bool)},
	}
}

func withStream(labels []string) []string { return append([]string{"stream"}, labels...) }

func (m *Metrics) counted() []prometheus.Collector {
	return []prometheus.Collector{
		m.messages, m.rows, m.duplicates, m.quarantined, m.reintroduced, m.deleted, m.gaps, m.lost, m.heads, m.headFailures, m.retries, m.abandoned,
		m.batchMessages, m.batchBytes, m.batchRows, m.steps, m.retention,
	}
}

// Describe sends the descriptions of all metrics.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.counted() {
		c.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{
		lagEventsDesc, lagSecondsDesc, committedDesc, replicasDesc, bytesDesc, limitDesc, leaseHeldDesc, leaseEpochDesc, heartbeatAgeDesc, unknownKeysDesc, readyDesc, stuckDesc, stoppedDesc,
	} {
		ch <- d
	}
}

// RetentionFailed counts a failed attempt to apply the retention of the installation.
func (m *Metrics) RetentionFailed() {
	if m != nil {
		m.retention.Inc()
	}
}

// Collect sends the current metrics without asking a server. Collect leaves out unknown values: the
// lag before the first measurement, and the epoch and the heartbeat while another process holds
// the lease.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.counted() {
		c.Collect(ch)
	}
	m.mu.Lock()
	live := maps.Clone(m.live)
	m.mu.Unlock()
	for stream, gauges := range live {
		gauges().collect(func(d *prometheus.Desc, value float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{stream}, labels...)...)
		})
	}
}

// Gauges are the current state of a projector.
type Gauges struct {
	Lag         *Lag          // nil while it is unknown
	LeaseHeld   bool          // by this process
	LeaseEpoch  uint64        // of the lease that is held
	LeaseAge    time.Duration // since the lease that is held was renewed
	UnknownKeys uint64        // missing keys that redactions name
	Ready       bool
	Stuck       bool
	Reason      string // why the projector gave up; empty otherwise
}

func (g Gauges) collect(send func(d *prometheus.Desc, value float64, labels ...string)) {
	if g.Lag != nil {
		send(lagEventsDesc, float64(g.Lag.Events))
		send(lagSecondsDesc, g.Lag.Age.Seconds())
		send(committedDesc, float64(g.Lag.Committed))
		send(replicasDesc, float64(g.Lag.Behind))
		send(bytesDesc, float64(g.Lag.Bytes))
		if g.Lag.Limit > 0 {
			send(limitDesc, float64(g.Lag.Limit))
		}
	}
	send(leaseHeldDesc, truth(g.LeaseHeld))
	if g.LeaseHeld {
		send(leaseEpochDesc, float64(g.LeaseEpoch))
		send(heartbeatAgeDesc, g.LeaseAge.Seconds())
	}
	send(unknownKeysDesc, float64(g.UnknownKeys))
	send(readyDesc, truth(g.Ready))
	send(stuckDesc, truth(g.Stuck))
	for _, reason := range StopReasons {
		send(stoppedDesc, truth(reason == g.Reason), reason)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The reasons for a stop that needs a person.
var StopReasons = []string{"stream_forked", "events_expired", "newer_rules", "failed"}

// A Meter counts the events of one stream. Without Metrics it does nothing.
type Meter struct {
	counts *Metrics
	stream string
}

// Of returns the meter of a stream. The metrics may be nil.
func (m *Metrics) Of(stream string) Meter { return Meter{m, stream} }

// Reason returns the reason why the last attached projector gave up, or "".
func (m Meter) Reason() string {
	m.counts.mu.Lock()
	before := m.counts.live[m.stream]
	m.counts.mu.Unlock()
	if before == nil {
		return ""
	}
	return before().Reason
}

// Attach sets the projector whose state is shown.
func (m Meter) Attach(gauges func() Gauges) {
	m.counts.mu.Lock()
	m.counts.live[m.stream] = gauges
	m.counts.mu.Unlock()
	for _, c := range []*prometheus.CounterVec{m.counts.messages, m.counts.duplicates, m.counts.deleted, m.counts.gaps, m.counts.lost} {
		c.WithLabelValues(m.stream) // shows 0, so that the first increase is visible
	}
}

// Commit is a batch that is committed.
type Commit struct {
	Messages    uint64
	Bytes       int // of the messages as received
	Rows        map[string]uint64
	Holes       uint64 // sequences of the batch that the stream does not have
	Quarantined []decode.Event
}

// Commit counts a batch that is committed.
func (m Meter) Commit(c Commit) {
	if m.counts == nil {
		return
	}
	var total uint64
	for table, n := range c.Rows {
		m.counts.rows.WithLabelValues(m.stream, table).Add(float64(n))
		total += n
	}
	for _, r := range c.Quarantined {
		m.counts.quarantined.WithLabelValues(m.stream, string(r.Violations[0].Code)).Inc()
		if r.Reintroduced && r.Redaction != "" {
			m.counts.reintroduced.WithLabelValues(m.stream, m.counts.named.label(r.Redaction)).Inc()
		}
	}
	m.counts.messages.WithLabelValues(m.stream).Add(float64(c.Messages))
	m.counts.duplicates.WithLabelValues(m.stream).Add(float64(c.Rows["duplicates"]))
	m.counts.gaps.WithLabelValues(m.stream).Add(float64(c.Holes))
	m.counts.batchMessages.WithLabelValues(m.stream).Observe(float64(c.Messages))
	m.counts.batchBytes.WithLabelValues(m.stream).Observe(float64(c.Bytes))
	m.counts.batchRows.WithLabelValues(m.stream).Observe(float64(total))
}

// BatchAbandoned counts a batch that NATS gave up. The tenant may be "", if it is not known.
func (m Meter) BatchAbandoned(tenant string) {
	if m.counts != nil {
		m.counts.abandoned.WithLabelValues(m.stream, m.counts.tenants.label(tenant)).Inc()
	}
}

// mostNamed is the number of redactions, and of tenants, with a counter of their own. Each counter takes memory here
// and in Prometheus.
const mostNamed = 1000

// label returns the label of a name: the name, or "other" after the first mostNamed.
func (n *names) label(redaction string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.list[redaction] && len(n.list) >= mostNamed {
		return "other"
	}
	n.list[redaction] = true
	return redaction
}

// Step records the duration of a step of a batch.
func (m Meter) Step(name string, took time.Duration) {
	if m.counts != nil {
		m.counts.steps.WithLabelValues(m.stream, name).Observe(took.Seconds())
	}
}

// Retry counts a failed attempt that is repeated.
func (m Meter) Retry(cause Failure) {
	if m.counts != nil {
		m.counts.retries.WithLabelValues(m.stream, cause.Who, cause.Code).Inc()
	}
}

// Deletion counts a message that was deleted because it held a withheld value.
func (m Meter) Deletion() {
	if m.counts != nil {
		m.counts.deleted.WithLabelValues(m.stream).Inc()
	}
}

// Loss counts facts that did not arrive.
func (m Meter) Loss(facts uint64) {
	if m.counts != nil {
		m.counts.lost.WithLabelValues(m.stream).Add(float64(facts))
	}
}

// Head counts a delivered head, or a failed attempt.
func (m Meter) Head(to string, err error) {
	switch {
	case m.counts == nil:
	case err != nil:
		m.counts.headFailures.WithLabelValues(m.stream, to).Inc()
	default:
		m.counts.heads.WithLabelValues(m.stream, to).Inc()
	}
}
