// Package secrets finds secrets that nobody named, such as API keys and private
// keys, by the rules of gitleaks. A runtime opts into it:
//
//	rules, err := secrets.New()
//	config := producer.DefaultConfig(nc)
//	config.Detector = rules
//
// What a rule finds is masked as [redacted:policy:secret-detection/<rule id>],
// with a redaction fact, and the guard of package redact finds it from then on,
// in its disguises, too. What the rules do not know stays: who knows a secret
// names it to the guard.
//
// # Why gitleaks
//
// It is the widely used set: 222 rules with keywords, entropy and allow lists,
// kept by its own project, under the MIT licence, and its engine is a Go library
// that needs no process and no network. The other large set in Go is under the
// AGPL and asks the issuers whether a secret is live, which would send it away. A
// set of our own would be neither tested as widely nor kept.
//
// It is heavy: 46 modules more, mostly for archives and repositories that this
// package never reads, and 9 MB in a program. Hence the package of its own: what
// imports producer alone compiles none of it. It logs to standard error from
// places that are not reached here, and its own constructor reads into viper's
// global settings, which [New] does not.
//
// # What it costs
//
// Each fact is looked at before it is queued, by the goroutine that records it;
// there is no I/O. BenchmarkDetect, on two busy cores: 0.5 ms for 1 KB of text
// without a word of any rule, 1.5 ms with such words, and 64 times that for
// 64 KB. The texts of a fact are given once each and without ids, which are most
// of a large one. A new secret makes a new guard: some 20 ms beside 1,000 values
// (BenchmarkWith in package redact), and next to nothing beside few.
//
// # What it finds by chance
//
// In the real sessions of shared/transcripts, 4.5 MB, and in the golden events:
// nothing (TestTranscripts, TestGoldenEvents).
package secrets
