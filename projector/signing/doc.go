// Package signing signs the tree heads of a stream's transparency log.
//
// A [Signer] gets each committed log. It signs a tree head when enough leaves or enough
// time have passed, and takes it to the table checkpoints, the stream CTX_CHECKPOINTS and
// each [Sink]. Nothing waits for it.
package signing
