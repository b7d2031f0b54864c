// Package metrics counts what projectors do, for Prometheus.
//
// [Metrics] is for a process; its [Meter] is for one stream. [LagMeter] measures how far
// the ledger is behind a stream, also while another process writes. A [Failure] says which
// server failed, and its code.
package metrics
