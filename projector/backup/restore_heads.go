package backup

import (
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// publishedHeads returns the heads of Published by stream. Errors: [ErrPublished].
func (r Restore) publishedHeads(m Manifest) (map[string][]byte, error) {
	heads := make(map[string][]byte)
	for i, head := range r.Published {
		if r.Ring == nil {
			return nil, fmt.Errorf("%w (keys/ledger.proof)", ErrKeys)
		}
		ring, err := r.Ring()
		if err != nil {
			return nil, fmt.Errorf("read the key ring of the ledger: %w", err)
		}
		opened, err := proof.Open(head, ring.Verifiers())
		if err != nil {
			return nil, fmt.Errorf("%w: head %d: %w", ErrPublished, i+1, err)
		}
		stream, incarnation, _ := proof.ParseOrigin(opened.Origin)
		of := slices.IndexFunc(m.Streams, func(s Stream) bool {
			return s.Name == stream && s.HoldsEvents() && s.Incarnation.String() == incarnation
		})
		if of < 0 {
			return nil, fmt.Errorf("%w: head %d is of the log %q", ErrPublished, i+1, opened.Origin)
		}
		heads[stream] = head
	}
	return heads, nil
}
