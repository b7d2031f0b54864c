// Package examples holds publishers in other languages than Go, and their tests against the
// embedded servers. Each publisher is a small program with the CloudEvents and NATS packages of
// its language.
//
//	typescript/    run by the tests; needs Node.js 20 and npm
//	python/        the tests run contract.py, but not publish.py
//	vectors.json   inputs and results of the computations that every publisher needs
//
// Both publish the same two facts. The environment configures them with NATS_URL, MODE
// (structured or binary), SESSION and TIME. With SESSION and TIME set, they publish the same
// events again, and the ledger keeps each event once.
package examples
