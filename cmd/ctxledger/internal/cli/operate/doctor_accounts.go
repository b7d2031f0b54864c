package operate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// checkAccounts lists rights that roles do not need, of the account of this connection and of
// the accounts in a folder of secrets.
func checkAccounts(ctx context.Context, a *cli.App, js jetstream.JetStream, secrets string) []finding {
	own := natsAccount{nc: js.Conn()}
	if err := own.identify(ctx); err != nil {
		return []finding{{what: "accounts", state: "the server does not tell whose connection this is: " + err.Error()}}
	}
	var findings []finding
	_, err := streamio.ReadPartitions(ctx, js)
	switch {
	case publish.PublishOnly(err):
		findings = append(findings, own.checkTenant(ctx, own.tenant()))
	case secrets == "":
		findings = append(findings, finding{what: "accounts", state: own.name() + " is the operator's; --secrets checks the accounts of the tenants in a folder"})
	default:
		findings = append(findings, finding{what: "accounts", state: own.name() + " is the operator's"})
	}
	if secrets == "" {
		return findings
	}
	return append(findings, checkSecrets(ctx, a, js, secrets)...)
}

const tenantSecret = "nats-tenant-"

// checkSecrets signs in at the server as every tenant of a folder of `deploy nats --out`.
func checkSecrets(ctx context.Context, a *cli.App, js jetstream.JetStream, folder string) []finding {
	files, err := filepath.Glob(filepath.Join(folder, tenantSecret+"*.env"))
	if inner, innerErr := filepath.Glob(filepath.Join(folder, "secrets", tenantSecret+"*.env")); len(files) == 0 && innerErr == nil {
		files = inner
	}
	if err != nil || len(files) == 0 {
		return []finding{{what: "accounts", err: fmt.Errorf("%s has no %s*.env: give --secrets the folder that `ctxledger deploy nats --out` wrote", folder, tenantSecret)}}
	}
	var findings []finding
	for _, file := range files {
		tenant := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), tenantSecret), ".env")
		_, err := js.StreamNameBySubject(ctx, schema.TenantSubjects(tenant))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = fmt.Errorf("no stream takes the events of tenant %s: run `ctxledger migrate --tenant %[1]s`", tenant)
		}
		f := finding{what: "accounts", err: err}
		if err == nil {
			f = checkSecret(ctx, a, js.Conn().ConnectedAddr(), file, tenant)
		}
		findings = append(findings, f)
	}
	return findings
}

func checkSecret(ctx context.Context, a *cli.App, address, file, tenant string) finding {
	f := finding{what: "accounts"}
	url, err := secretAddress(file, address)
	if err != nil {
		f.err = err
		return f
	}
	nc, err := a.DialNATS(url)
	if err != nil {
		f.err = fmt.Errorf("tenant %s: %w", tenant, err)
		return f
	}
	defer nc.Close()
	account := natsAccount{nc: nc}
	if err := account.identify(ctx); err != nil {
		f.err = fmt.Errorf("tenant %s: %w", tenant, err)
		return f
	}
	return account.checkTenant(ctx, tenant)
}

// secretAddress reads the address of a client from a file of secrets, for the server
// at another host and port.
func secretAddress(file, address string) (string, error) {
	text, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read a tenant's secret: %w", err)
	}
	defer text.Close()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		value, ok := strings.CutPrefix(lines.Text(), "CTXLEDGER_NATS_URL=")
		if !ok {
			continue
		}
		scheme, rest, _ := strings.Cut(strings.Trim(value, `'"`), "://")
		user, _, _ := strings.Cut(rest, "@")
		return scheme + "://" + user + "@" + address, nil
	}
	return "", fmt.Errorf("%s has no CTXLEDGER_NATS_URL: remove it and run `ctxledger deploy nats --out` again", file)
}

// natsAccount is a connection, with the server's information about its user.
type natsAccount struct {
	nc            *nats.Conn
	user, account string
}

// identify asks the server whose connection it is. From here on, a denial of the server is an
// answer and not an error.
func (n *natsAccount) identify(ctx context.Context) error {
	n.nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	answer, err := n.nc.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
	if err != nil {
		return fmt.Errorf("ask the server for the user: %w", err)
	}
	var said struct {
		Data struct {
			User    string `json:"user"`
			Account string `json:"account"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return fmt.Errorf("ask the server for the user: %w", err)
	}
	n.user, n.account = said.Data.User, said.Data.Account
	return nil
}

func (n *natsAccount) name() string { return fmt.Sprintf("user %q of account %q", n.user, n.account) }

// tenant is whose the account is by the names that `deploy nats` gives.
func (n *natsAccount) tenant() string {
	if tenant, ok := strings.CutPrefix(n.user, "tenant_"); ok {
		return tenant
	}
	return schema.DefaultTenant
}

// checkTenant lists rights of an account that a tenant must not have.
func (n *natsAccount) checkTenant(ctx context.Context, tenant string) finding {
	f := finding{what: "accounts"}
	const stranger = "ctxledger-doctor-probe" // no tenant is called so
	fact := func(tenant, runtime string) string {
		return schema.Subject{Tenant: tenant, Runtime: runtime, Bucket: "p00", Object: "item", Verb: "added"}.String()
	}
	if may, err := n.mayStore(ctx, fact(tenant, stranger)); err != nil || !may {
		f.state = fmt.Sprintf("%s may not publish as tenant %q, so its limits were not checked", n.name(), tenant)
		return f
	}
	probes := map[string]string{
		"the facts of other tenants":     fact(stranger, stranger),
		"the leases of the projectors":   "$KV." + lease.Bucket + "." + stranger,
		"the quarantine":                 "ctx.quarantine." + stranger,
		"the signed heads of the ledger": "ctx.checkpoints." + stranger,
	}
	if tenant != schema.DefaultTenant { // a stranger may have no stream, which would answer
		probes["the facts of tenant default"] = fact(schema.DefaultTenant, stranger)
	}
	for i, subject := range schema.OperatorSubjects(tenant) {
		kind := schema.OperatorTypes()[i]
		probes["the operator's fact "+string(kind)] = strings.Replace(subject, "*.*", stranger+".p00", 1)
	}
	var more []string
	for what, subject := range probes {
		may, err := n.mayStore(ctx, subject)
		if err != nil {
			f.err = fmt.Errorf("%s: probe %s: %w", n.name(), subject, err)
			return f
		}
		if may {
			more = append(more, what)
		}
	}
	if js, err := jetstream.New(n.nc); err == nil {
		if _, err := js.Stream(ctx, schema.EventStream); !publish.PublishOnly(err) && !timedOut(err) {
			more = append(more, "looks into the streams")
		}
	}
	slices.Sort(more)
	if len(more) > 0 {
		f.err = fmt.Errorf("%s allows more than tenant %q needs: it may write or read %s; deny it, as `ctxledger deploy nats` does", n.name(), tenant, strings.Join(more, ", "))
		return f
	}
	f.state = fmt.Sprintf("%s may publish the facts of tenant %q and no more", n.name(), tenant)
	return f
}

func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
}

// probePatience is how long a server has to answer a probe. A server reports a denied subject
// immediately, but not as an answer.
const probePatience = 2 * time.Second

// mayStore reports whether a stream takes messages of this account on a subject. The
// message expects a stream that does not exist, so no stream ever stores it.
func (n *natsAccount) mayStore(ctx context.Context, subject string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	answers, err := n.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		return false, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	m := nats.NewMsg(subject)
	m.Reply = answers.Subject
	m.Header.Set(jetstream.ExpectedStreamHeader, "ctxledger-doctor-expects-no-stream")
	if err := n.nc.PublishMsg(m); err != nil {
		return false, err
	}
	if err := n.nc.FlushWithContext(ctx); err != nil {
		return false, err
	}
	for {
		answer, err := answers.NextMsg(50 * time.Millisecond)
		switch {
		case err == nil:
			return answer.Header.Get("Status") != "503", nil
		case errors.Is(err, nats.ErrNoResponders):
			return false, nil
		case refusedSubject(n.nc.LastError(), subject), ctx.Err() != nil:
			return false, nil
		case !errors.Is(err, nats.ErrTimeout):
			return false, err
		}
	}
}

// refusedSubject reports whether the server has denied a subject.
func refusedSubject(err error, subject string) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+subject+`"`)
}
