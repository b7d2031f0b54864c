// Package latency measures how much latency a proxy adds to model calls. A [Plan] asks a provider
// by several ways, in turns: directly, through the reverse proxy of the standard library, and
// through the proxy under test. [Check] compares the added times with the bar:
//
//	added ≤ 2 × added by the reverse proxy + 1 ms (p50) or + 5 ms (p99)
//
// [Provider] and [Request] are the provider and the request of such a measurement. Times mean
// little while other programs use the processors: compare times of one run only.
package latency
