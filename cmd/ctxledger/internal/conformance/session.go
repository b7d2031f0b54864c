package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// ErrNoSession means that the ledger has no fact of the session.
var ErrNoSession = errors.New("the ledger has no fact of this session; `ctxledger query sessions` lists its sessions")

// ErrSeveralTenants means that several tenants have a session with this id: name one tenant.
var ErrSeveralTenants = errors.New("several tenants have a session with this id")

// CheckSession runs the checks that apply to any session on a session of another runtime. A case
// without matching rows has no findings. CheckSession publishes nothing and needs no JetStream.
// If t names no tenant, it finds the tenant of the session. The checks of every case count for
// ACTX-AR-ID-001.
//
// Errors: [ErrNoSession], [ErrSeveralTenants], and errors of the server.
func CheckSession(ctx context.Context, t Target, session string, progress func(done, total int)) (Report, error) {
	tenant, err := tenantOf(ctx, t.Ledger, session, t.Tenant)
	if err != nil {
		return Report{}, err
	}
	t = t.withDefaults()
	report := Report{Tenant: tenant}
	parameters := map[string]string{"tenant": tenant, "session_id": session}
	for i, c := range t.Cases {
		if progress != nil {
			progress(i, len(t.Cases))
		}
		result := Result{Case: c.Name, Title: c.Title, Source: c.Source, Session: session}
		if result.Findings, err = sessionFindings(ctx, t.Ledger, c, parameters); err != nil {
			return report, fmt.Errorf("case %s: %w", c.Name, err)
		}
		report.Cases = append(report.Cases, result)
	}
	report.conclude()
	return report, nil
}

// tenantOf returns the tenant of the session: the given tenant, or the only tenant that has the
// session. A tenant can be the empty string.
func tenantOf(ctx context.Context, l *ledger.Ledger, session, given string) (string, error) {
	result, err := read.Of(l).Query(ctx, readFile(sqlFiles, "sql/tenants.sql"), map[string]string{"session_id": session, "tenant": given}, read.DefaultLimits())
	if err != nil {
		return "", fmt.Errorf("look for session %q: %w", session, err)
	}
	var tenants []string
	for result.Next() {
		tenants = append(tenants, fmt.Sprint(result.Values()[0]))
	}
	if err := result.Close(); err != nil {
		return "", fmt.Errorf("look for session %q: %w", session, err)
	}
	switch len(tenants) {
	case 0:
		return "", fmt.Errorf("session %q: %w", session, ErrNoSession)
	case 1:
		return tenants[0], nil
	}
	return "", fmt.Errorf("session %q: %w: %s", session, ErrSeveralTenants, strings.Join(tenants, ", "))
}

func sessionFindings(ctx context.Context, l *ledger.Ledger, c Case, parameters map[string]string) ([]Finding, error) {
	checks := c.Checks
	if common := len(commonChecks()); c.Name != catalogue[0].Name {
		checks = checks[common:]
	}
	findings := []Finding{}
	for _, check := range checks {
		if !check.OnSession {
			continue
		}
		a, err := check.ask(ctx, l, parameters)
		if err != nil {
			return nil, err
		}
		if a.lookedAt > 0 {
			findings = append(findings, check.finding(a))
		}
	}
	return findings, nil
}
