package storage

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestReadMonitor reads the limit and the bytes of a NATS server from its monitoring address.
func TestReadMonitor(t *testing.T) {
	t.Parallel()
	const limit, stored = 64 << 20, 1 << 20
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: limit, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := js.Publish(t.Context(), "s", make([]byte, stored/4)); err != nil {
			t.Fatal(err)
		}
	}
	address := "http://" + s.MonitorAddr().String()
	hour := int64(8 << 20)
	store, err := ReadMonitor(t.Context(), address, &Growth{Hour: hour})
	if err != nil {
		t.Fatal(err)
	}
	if store.Bytes < stored || store.Bytes > 2*stored || store.Limit == nil || *store.Limit != limit || store.Scarce() {
		t.Errorf("the server has %+v", store)
	}
	if want := Estimate(new(limit-store.Bytes), &Growth{Hour: hour}); store.Forecast.String() != want.String() {
		t.Errorf("it is full %s, want %s", store.Forecast, want)
	}
	if _, err := ReadMonitor(t.Context(), address+"/absent", nil); err == nil {
		t.Error("another page was read")
	}
}

// TestHealthWithoutAnAnswer: a wrong monitoring address is an error of its own, and not what NATS says.
func TestHealthWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for address, want := range map[string]string{
		"http://" + silent.Addr().String(): context.DeadlineExceeded.Error(),
		"http://127.0.0.1:1":               "connection refused",
		"http://127.0.0.1:%":               "read the monitoring address",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if says, err := ReadHealth(ctx, address); says != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", address, says, err)
		}
	}
}
