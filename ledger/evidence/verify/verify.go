package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Options hold the keys and limits of a verification.
type Options struct {
	// Keys are the trusted public keys, including those before a rotation. Required.
	Keys []note.Verifier
	// TenantKeys recognise redacted values by fingerprint. Without TenantKeys, fingerprints are not
	// checked.
	TenantKeys []schema.Key
	// Witnessed are heads of logs that a witness has seen. A head of the pack with the same size must have
	// the same root.
	Witnessed []proof.Checkpoint
	// MaxFaults bounds the listed faults of a question. All faults are counted. Defaults to 20.
	MaxFaults int
	// Limits bound the cost of reading. Defaults to [pack.DefaultLimits].
	Limits *pack.Limits
}

// ErrNoKeys means that no trusted key was given.
var ErrNoKeys = errors.New("verify needs at least one public key")

// Pack verifies the pack at path, a folder or a zip. The report covers every problem of the pack
// itself. The error is [ErrNoKeys], the error of the context, or an error of reading path.
func Pack(ctx context.Context, path string, o Options) (*Report, error) {
	if len(o.Keys) == 0 {
		return nil, ErrNoKeys
	}
	if o.MaxFaults == 0 {
		o.MaxFaults = 20
	}
	limits := pack.DefaultLimits()
	if o.Limits != nil {
		limits = *o.Limits
	}
	v := &verifier{ctx: ctx, options: o, found: newFindings(o.MaxFaults)}
	var err error
	v.pack, err = pack.Open(path, limits)
	var fault *pack.Fault
	switch {
	case errors.As(err, &fault):
		v.found.faultf(Format, fault.Path, 0, "%s", fault.Reason)
		v.nothing()
		return v.report(), nil
	case err != nil:
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer v.pack.Close()
	if err := v.run(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return v.report(), nil
}

// verifier is the state of one verification.
type verifier struct {
	ctx     context.Context
	options Options
	pack    *pack.Reader
	found   *findings
	header  pack.Header
	known   bool // the pack has a readable header
	signers []string
	// changed are the files that differ from a signed manifest. trusted means that the pack has
	// such a manifest.
	changed map[string]bool
	trusted bool
	heads   []head
	facts   facts
	totals  totals
}

// totals count records.
type totals struct{ records, expired, withheld int64 }

// nothing answers all questions except the format with not_checked.
func (v *verifier) nothing() {
	for _, q := range Questions()[1:] {
		v.found.settle(q, NotChecked, "the pack cannot be read")
	}
}

func (v *verifier) run() error {
	for _, f := range v.pack.Faults() {
		v.found.faultf(Format, f.Path, 0, "%s", f.Reason)
	}
	v.found.settle(Format, Passed, "readable files without hostile content: %d", len(v.pack.Files()))
	v.checkSignature()
	if err := v.checkFiles(); err != nil {
		return err
	}
	if !v.known {
		v.nothing()
		return nil
	}
	v.openHeads()
	both, ctx := errgroup.WithContext(v.ctx)
	both.Go(func() error { return v.checkRecords(ctx) })
	both.Go(func() error { return v.checkDocuments(ctx) })
	if err := both.Wait(); err != nil {
		return err
	}
	v.facts.finish(v)
	v.noteLacking()
	return v.checkRedaction()
}

// unreadable reports a file of the pack that cannot be read to the end.
func (v *verifier) unreadable(path string, line int64, err error) {
	var fault *pack.Fault
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.found.faultf(Format, path, 0, "is missing")
		return
	case errors.As(err, &fault):
		v.found.faultf(Format, path, line, "%s", fault.Reason)
	default:
		v.found.faultf(Format, path, line, "cannot be read: %v", err)
	}
	v.found.breaks(path)
}

func (v *verifier) report() *Report {
	r := &Report{
		Pack: v.header.ID, Scope: v.header.Scope, Created: v.header.Created, SignedBy: v.signers,
		Records: v.totals.records, Expired: v.totals.expired, Withheld: v.totals.withheld, Verdicts: v.found.verdicts(),
	}
	for _, h := range v.heads {
		if h.signed {
			r.Logs = append(r.Logs, h.log())
		}
	}
	return r
}
