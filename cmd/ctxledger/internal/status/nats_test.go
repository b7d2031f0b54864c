package status

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// TestFullDiskOfNATS: a stream whose disk was full gives no answer, also when the disk has room again. The
// monitoring address tells, and so does the readiness.
func TestFullDiskOfNATS(t *testing.T) {
	t.Parallel()
	disk := embeddedtest.SmallDisk(t, 16<<10)
	ballast := filepath.Join(disk, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 8<<20), 0o600))
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
		JetStream: true, StoreDir: filepath.Join(disk, "nats"), JetStreamMaxStore: 1 << 30, NoSigs: true,
	})
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	nc, err := nats.Connect(s.ClientURL())
	must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	must(t, err)

	monitor := func(ctx context.Context) (string, error) {
		return storage.ReadHealth(ctx, "http://127.0.0.1:"+strconv.Itoa(s.MonitorAddr().Port))
	}
	p := Process{
		Projectors: func() []Projector { return nil }, NATS: Healthy(nc.IsConnected, monitor),
		ClickHouse: func(context.Context) error { return nil },
	}
	if r := p.ready(t.Context()); !r.Ready {
		t.Errorf("before the disk is full it is %+v", r)
	}
	for err = nil; err == nil; {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err = js.Publish(ctx, "s", make([]byte, 512<<10))
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a full disk answers %v", err)
	}
	must(t, os.Remove(ballast))
	r := p.ready(t.Context())
	if r.Ready || r.NATS || len(r.Reasons) != 1 || !strings.HasPrefix(r.Reasons[0], "NATS says: JetStream stream '$G > S' write error: ") ||
		!strings.HasSuffix(r.Reasons[0], "no space left on device. If a disk was full, make room and restart NATS") {
		t.Errorf("with a full disk it is %+v", r)
	}
}
