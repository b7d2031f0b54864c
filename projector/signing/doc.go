// Package signing signs the tree heads of a stream's transparency log.
//
// A [Signer] receives each committed transparency log. The Signer signs a tree head after
// enough leaves or enough time. The Signer sends the head to the table checkpoints, the stream
// CTX_CHECKPOINTS and each [Sink]. No commit waits for a Signer.
package signing
