package deploy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// startNATS runs a NATS server with the files of a node, on free ports and in a separate folder.
// startNATS sets the environment, so its tests do not run in parallel.
func startNATS(t *testing.T, n node) *server.Server {
	t.Helper()
	for variable, hash := range n.variables(t, "nats-server") {
		t.Setenv(variable, hash)
	}
	options, err := server.ProcessConfigFile(filepath.Join(n.dir, "nats", "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if !options.SyncAlways || options.JetStreamLimits.MaxBatchSize != 1000 || options.MaxPayload != 1<<20 || options.HTTPHost != "127.0.0.1" {
		t.Errorf("the server understands the limits otherwise: %+v", options)
	}
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	return serve(t, options)
}

// serve runs a NATS server in a separate folder until the test ends.
func serve(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	options.HTTPPort, options.StoreDir, options.NoLog, options.NoSigs = 0, t.TempDir(), true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	return s
}

// signIn connects as a user of the node.
func signIn(t *testing.T, n node, s *server.Server, user string) jetstream.JetStream {
	t.Helper()
	return signInTo(t, n.address(t, "nats-"+user, s.Addr().String()))
}

// signInTo connects to one of the addresses.
func signInTo(t *testing.T, addresses string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(addresses, nats.Timeout(10*time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

const factOf = "ctx.v1.%s.rt.p00.item.added"

// store publishes without the SDK, and reports whether a stream stored the message.
func store(t *testing.T, js jetstream.JetStream, subject string) error {
	t.Helper()
	_, err := js.Publish(t.Context(), subject, []byte("{}"), jetstream.WithRetryAttempts(0))
	return err
}

func TestTenantsAreApart(t *testing.T) {
	n := write(t, deploy.NATS())
	s := startNATS(t, n)
	admin, acme, zeta := signIn(t, n, s, "admin"), signIn(t, n, s, "tenant-acme"), signIn(t, n, s, "tenant-zeta-2")
	if _, err := streamio.EnsureStreams(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	leases, err := admin.KeyValue(t.Context(), lease.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leases.PutString(t.Context(), "CTX", "held"); err != nil {
		t.Fatal(err)
	}
	all, err := admin.Conn().SubscribeSync("ctx.>")
	if err != nil {
		t.Fatal(err)
	}
	spy, err := zeta.Conn().SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	for _, watching := range []jetstream.JetStream{admin, zeta} {
		if err := watching.Conn().Flush(); err != nil {
			t.Fatal(err)
		}
	}

	if err := store(t, acme, fmt.Sprintf(factOf, "acme")); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{fmt.Sprintf(factOf, "zeta-2"), fmt.Sprintf(factOf, "other"), "ctx.quarantine.x", "ctx.checkpoints.x", "$KV." + lease.Bucket + ".CTX"} {
		if err := store(t, acme, subject); !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("acme publishes on %s: %v", subject, err)
		}
	}
	// Answers go to the subject that the request names. No answer may leave the account.
	for _, reply := range []string{"$KV." + lease.Bucket + ".CTX", fmt.Sprintf(factOf, "zeta-2"), "ctx.quarantine.x"} {
		if err := acme.Conn().PublishRequest(fmt.Sprintf(factOf, "acme"), reply, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := store(t, acme, fmt.Sprintf(factOf, "acme")); err != nil { // after the requests
		t.Fatal(err)
	}
	if entry, err := leases.Get(t.Context(), "CTX"); err != nil || string(entry.Value()) != "held" {
		t.Errorf("the lease entry is %v: %v", entry, err)
	}
	if err := store(t, zeta, fmt.Sprintf(factOf, "zeta-2")); err != nil {
		t.Fatal(err)
	}
	wantSubjects(t, admin, "CTX", map[string]uint64{fmt.Sprintf(factOf, "acme"): 5, fmt.Sprintf(factOf, "zeta-2"): 1})
	wantSubjects(t, admin, "CTX_QUARANTINE", nil)
	if m, err := all.NextMsg(5 * time.Second); err != nil || m.Subject != fmt.Sprintf(factOf, "acme") {
		t.Errorf("not even the admin sees anything: %v", err)
	}
	own := fmt.Sprintf(factOf, "zeta-2")
	for subject := ""; subject != own; { // earlier messages of acme
		m, err := spy.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if subject = m.Subject; subject != own && !strings.HasPrefix(subject, "_INBOX.") {
			t.Errorf("zeta-2 sees %s", subject)
		}
	}
	for what, ask := range map[string]func(jetstream.JetStream) error{
		"read":   func(js jetstream.JetStream) error { _, err := js.Stream(t.Context(), "CTX"); return err },
		"delete": func(js jetstream.JetStream) error { return js.DeleteStream(t.Context(), "CTX") },
		"consume": func(js jetstream.JetStream) error {
			_, err := js.CreateConsumer(t.Context(), "CTX", jetstream.ConsumerConfig{FilterSubject: fmt.Sprintf(factOf, "zeta-2")})
			return err
		},
	} {
		if err := ask(acme); !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			t.Errorf("acme may %s the stream: %v", what, err)
		}
	}
}

func wantSubjects(t *testing.T, js jetstream.JetStream, name string, want map[string]uint64) {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.State.Subjects; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, not %v", name, got, want)
	}
}

// TestProjectorUser checks that the user can run a projector and cannot delete streams.
func TestProjectorUser(t *testing.T) {
	n := write(t, deploy.NATS())
	s := startNATS(t, n)
	if _, err := streamio.EnsureStreams(t.Context(), signIn(t, n, s, "admin")); err != nil {
		t.Fatal(err)
	}
	js := signIn(t, n, s, "projector")
	if _, err := js.Stream(t.Context(), schema.EventStream); err != nil {
		t.Error(err)
	}
	acme := signIn(t, n, s, "tenant-acme")
	for range 3 { // to quarantine these facts, the projector uses all of its rights
		if err := store(t, acme, fmt.Sprintf(factOf, "acme")); err != nil {
			t.Fatal(err)
		}
	}
	// the projector hears whose a batch is that nobody finishes
	batches, err := js.Conn().SubscribeSync(schema.AllSubjects)
	if err == nil {
		err = js.Conn().Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := acme.Conn().PublishMsg(&nats.Msg{Subject: fmt.Sprintf(factOf, "acme"), Header: nats.Header{"Nats-Batch-Id": {"open"}, "Nats-Batch-Sequence": {"1"}}}); err != nil {
		t.Fatal(err)
	}
	if m, err := batches.NextMsg(10 * time.Second); err != nil || m.Header.Get("Nats-Batch-Id") != "open" || schema.SubjectTenant(m.Subject) != "acme" {
		t.Errorf("the projector hears %+v of an open batch: %v", m, err)
	}
	heard := make(map[string]*nats.Subscription)
	for _, tenant := range []string{"acme", "zeta-2"} {
		nc := signIn(t, n, s, "tenant-"+tenant).Conn()
		sub, err := nc.SubscribeSync("ctxnotice.v1.>")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		heard[tenant] = sub
	}
	forged := make(chan error, 1)
	acme.Conn().SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { forged <- err })
	if err := acme.Conn().Publish("ctxnotice.v1.acme.p00.quarantined", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := <-forged; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("a tenant may publish notices: %v", err)
	}
	projectAll(t, js, 3)
	for range 3 {
		if m, err := heard["acme"].NextMsg(10 * time.Second); err != nil || !strings.HasPrefix(m.Subject, "ctxnotice.v1.acme.p") {
			t.Errorf("the tenant hears no notice: %v", err)
		}
	}
	if n, _, err := heard["zeta-2"].Pending(); err != nil || n != 0 {
		t.Errorf("another tenant hears %d notices: %v", n, err)
	}
	if err := store(t, js, "ctx.v1.acme.rt.p00.erasure.applied"); err != nil {
		t.Errorf("the projector may not publish the operator's facts: %v", err)
	}
	denied := make(chan error, 10)
	js.Conn().SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err })
	for _, subject := range []string{fmt.Sprintf(factOf, "acme"), "$JS.API.STREAM.DELETE.CTX", "$JS.API.STREAM.PURGE.CTX_CHECKPOINTS", "$JS.API.STREAM.PURGE.CTX_LASTING", "$JS.API.STREAM.UPDATE.CTX", "$JS.API.STREAM.CREATE.NEW"} {
		if err := js.Conn().Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("the projector may publish on %s", subject)
		}
	}
}

func TestOnlyUsersSignIn(t *testing.T) {
	n := write(t, deploy.NATS())
	s := startNATS(t, n)
	for _, who := range []string{"", "admin:x@", "admin@", "tenant_acme:x@"} {
		nc, err := nats.Connect("nats://" + who + s.Addr().String())
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%q: %v", who, err)
		}
	}
}

// TestSDKAsATenant publishes as a tenant with the SDK. The tenant's account cannot read the
// stream, neither at the start nor before a second attempt at a batch. Here the first attempt
// fails because the stream is created later.
func TestSDKAsATenant(t *testing.T) {
	n := write(t, deploy.NATS())
	s := startNATS(t, n)
	admin, acme := signIn(t, n, s, "admin"), signIn(t, n, s, "tenant-acme")
	c := producer.DefaultConfig(acme.Conn())
	c.Tenant = "acme"
	client, err := producer.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: fmt.Sprint(i), Reason: "superseded"}, schema.Correlation{SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	for client.Err() == nil { // until the first attempt has failed
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := streamio.EnsureStreams(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSubjects(t, admin, schema.EventStream, map[string]uint64{"ctx.v1.acme.unnamed.p3d.item.removed": 3})
	if _, err := streamio.EnsureTenant(t.Context(), admin, streamio.TenantLayout{Tenant: "acme", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: fmt.Sprint("own-", i), Reason: "superseded"}, schema.Correlation{SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSubjects(t, admin, "CTX-acme", map[string]uint64{"ctx.v1.acme.unnamed.p3d.item.removed": 2})
}

// TestTLS includes tls.conf, with a certificate for the test.
func TestTLS(t *testing.T) {
	n := write(t, deploy.NATS())
	roots := certify(t, filepath.Join(n.dir, "nats", "tls"))
	file, err := os.OpenFile(filepath.Join(n.dir, "nats", "server.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\ninclude ./tls.conf\n"); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	t.Setenv("CTXLEDGER_NATS_CERT", filepath.Join(n.dir, "nats", "tls", "server.crt"))
	t.Setenv("CTXLEDGER_NATS_KEY", filepath.Join(n.dir, "nats", "tls", "server.key"))
	t.Chdir("/") // the configuration works from any folder
	s := startNATS(t, n)
	address := n.address(t, "nats-admin", s.Addr().String())
	nc, err := nats.Connect(address, nats.Secure(&tls.Config{RootCAs: roots}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.TLSConnectionState(); err != nil {
		t.Error(err)
	}
	if nc, err := nats.Connect(address, nats.Secure(&tls.Config{RootCAs: x509.NewCertPool()})); err == nil {
		nc.Close()
		t.Error("a client that does not know the certificate connects")
	}
}

// certify writes a certificate for the addresses, and its key, into dir.
func certify(t *testing.T, dir string, addresses ...net.IP) *x509.CertPool {
	t.Helper()
	addresses = append(addresses, net.IPv4(127, 0, 0, 1))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: addresses,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, certificate, certificate, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"server.crt": public, "server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(public)
	return roots
}

// projectAll projects the stream with this user's connection and checks the number of quarantined
// events.
func projectAll(t *testing.T, js jetstream.JetStream, want uint64) {
	t.Helper()
	l, err := ledger.Open(t.Context(), embeddedtest.ClickHouse(t).ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := shadow.Of(l).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := projector.DefaultConfig(js, l)
	c.UntilCaughtUp = true
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Quarantined != want {
		t.Errorf("%d events in quarantine, not %d: %+v", s.Quarantined, want, s)
	}
	stream, err := js.Stream(t.Context(), schema.QuarantineStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != want {
		t.Errorf("%s holds %d messages, not %d", schema.QuarantineStream, got, want)
	}
}

// The template cannot import the contract, which lists the operator's facts.
func TestTenantsAreDeniedTheOperatorsFacts(t *testing.T) {
	text := write(t, deploy.NATS()).text(t, "nats/accounts.conf")
	want := `deny: ["` + strings.Join(schema.OperatorSubjects("*"), `", "`) + `", "ctxnotice.>"]`
	if strings.Count(text, want) != len(tenants) {
		t.Errorf("not every tenant has %s:\n%s", want, text)
	}
}
