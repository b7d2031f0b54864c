package packs

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/site"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// Server makes and verifies packs for the evidence page, with the keys of a data folder.
type Server struct {
	Data    string
	Connect func() (jetstream.JetStream, error) // for the fact that a pack was made
}

// Make is [site.Packs.Make].
func (s Server) Make(ctx context.Context, l *ledger.Ledger, scope pack.Scope, target string) error {
	made, err := writePack(ctx, l, answer.Shards(ctx), s.Data, scope, ExportFlags{Out: target, zip: true}, func(uint64, uint64) {})
	if err == nil {
		err = answer.Whole(ctx)
	}
	if err != nil {
		return err
	}
	js, err := s.Connect()
	if err != nil {
		return fmt.Errorf("record that the pack was made: %w", err)
	}
	if err := PublishExport(ctx, js, scope, made); err != nil {
		return fmt.Errorf("record that the pack was made: %w", err)
	}
	return nil
}

// Verify is [site.Packs.Verify].
func (s Server) Verify(ctx context.Context, path, key, tenant string) (*verify.Report, error) {
	options := verify.Options{Limits: uploadLimits()}
	if key != "" {
		list, err := proof.ParseVerifiers([]byte(key))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", site.ErrKey, err)
		}
		options.Keys = list
	} else {
		ring, err := keyfile.ReadRing(s.Data)
		if err != nil {
			return nil, err
		}
		for _, k := range ring.Keys {
			v, err := note.NewVerifier(k.Public)
			if err != nil {
				return nil, fmt.Errorf("read the keys of the ledger: %w", err)
			}
			options.Keys = append(options.Keys, v)
		}
	}
	rings, err := keyfile.List(s.Data)
	if err != nil {
		return nil, err
	}
	for _, ring := range rings {
		if tenant == "" || ring.Tenant == tenant {
			options.TenantKeys = slices.Concat(options.TenantKeys, ring.Keys)
		}
	}
	return verify.Pack(ctx, path, options)
}
