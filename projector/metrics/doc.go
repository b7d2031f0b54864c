// Package metrics counts the work of projectors, for Prometheus.
//
// [Metrics] covers a process, and a [Meter] one stream. A [LagMeter] measures the lag of the
// ledger behind a stream, also while another process writes. A [Failure] names the server that
// failed, and its code.
package metrics
