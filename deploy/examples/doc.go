// Package examples holds publishers in other languages than Go, each a small
// program with its language's own CloudEvents and NATS packages, and the tests
// that run them against the embedded servers.
//
//	typescript/    run by the tests; needs Node.js 20 and npm
//	python/        its contract.py is run by the tests, publish.py is not
//	vectors.json   what a publisher in any language must compute alike
//
// Both publish the same two facts and let the environment choose: NATS_URL,
// MODE (structured or binary), SESSION and TIME. With SESSION and TIME given
// they publish the same events again, which the ledger keeps once.
package examples
