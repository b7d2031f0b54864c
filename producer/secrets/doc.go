// Package secrets finds secrets that are not configured, such as API keys and private keys,
// by the rules of gitleaks. A runtime enables it:
//
//	rules, err := secrets.New()
//	config := producer.DefaultConfig(nc)
//	config.Detector = rules
//
// A secret that a rule finds is masked as [redacted:policy:secret-detection/<rule id>],
// with a redaction fact. From then on, the guard of package redact finds the secret, also
// in its disguises. Secrets that no rule matches are not masked. Add known secrets to the
// guard.
//
// # The choice of gitleaks
//
// The rules of gitleaks are widely used: rules with keywords, entropy and allow lists. A
// separate project maintains them under the MIT license. The engine is a Go library that
// needs no process and no network. The other large rule set in Go is under the AGPL and
// sends found secrets to their issuers to check them. A new rule set would have fewer tests
// and less maintenance.
//
// Gitleaks has many dependencies, mostly for archives and repositories that this package
// never reads. Therefore this is a separate package: a program that imports only producer
// compiles none of them. Gitleaks logs to standard error, but this package does not call
// that code. The constructor of gitleaks reads into viper's global settings, but [New] does
// not.
//
// # Cost
//
// The goroutine that records a fact checks its text before the fact is queued, without I/O.
// BenchmarkDetect measures the time. Each different text of a fact is checked once, and ids
// are left out. A new secret makes a new guard (BenchmarkWith in package redact).
//
// TestTranscripts and TestGoldenEvents check that real sessions and the golden events give
// no false finding.
package secrets
