// Package exampleagent is a small agent runtime that records what happens to its
// context windows: how a runtime uses the SDK, to read and to copy from.
//
//	user message ─▶ elide ─▶ remind ─▶ fit ─▶ assemble ─▶ inject ─▶ model ─▶ usage ─▶ seal
//	                                    ▲                             │
//	                                    └────── results ◀── tools ◀───┘
//
// agent.go is that loop in this order, window.go what happens to the window,
// tool.go the tools: reading files within the run's grants, and handing a task to
// a child run that has fewer. A [Model] answers; [Script] is one whose replies are
// written down beforehand. Everything else is real.
//
// `ctxledger demo` is this agent with a script. Its tests use package producertest,
// and compare what the ledger says with what the model really got.
package exampleagent
