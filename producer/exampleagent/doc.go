// Package exampleagent is a small agent runtime that records its context windows. Read it
// to learn how a runtime uses the SDK, and copy from it.
//
//	user message ─▶ elide ─▶ remind ─▶ fit ─▶ assemble ─▶ inject ─▶ model ─▶ usage ─▶ seal
//	                                    ▲                             │
//	                                    └────── results ◀── tools ◀───┘
//
// agent.go is this loop, in this order. window.go changes the window. tool.go holds the
// tools: they read files within the run's grants and give a task to a child run with fewer
// grants. A [Model] answers. A [Script] is a model with prepared replies. Everything else
// is real.
//
// `ctxledger demo` runs this agent with a script. The agent's tests use package
// producertest and compare the ledger with the messages that the model received.
package exampleagent
