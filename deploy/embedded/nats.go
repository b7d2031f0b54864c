package embedded

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// jetStreamMaxMemory limits streams in memory. The ledger's streams are on disk.
const jetStreamMaxMemory = 256 << 20

// startNATS runs a JetStream server in this process, with its files in Dir/nats. startNATS
// returns when clients can connect.
func startNATS(ctx context.Context, c Config, creds credentials, p *ports) (*server.Server, error) {
	dir := filepath.Join(c.Dir, "nats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	for {
		port := server.RANDOM_PORT
		if c.NATSPort != 0 {
			var err error
			if port, err = p.choose(listenerNATS); err != nil {
				return nil, err
			}
		}
		s, err := startNATSOn(ctx, c, creds, dir, port)
		if err == nil || !p.lose(err) {
			return s, err
		}
	}
}

func startNATSOn(ctx context.Context, c Config, creds credentials, dir string, port int) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName:                 "ctxledger",
		Host:                       loopback,
		Port:                       port,
		CustomClientAuthentication: natsPassword(creds.NATS),
		JetStream:                  true,
		StoreDir:                   dir,
		JetStreamMaxMemory:         jetStreamMaxMemory,
		JetStreamMaxStore:          c.JetStreamMaxStore,
		SyncAlways:                 c.SyncAlways,
		NoLog:                      true, // the server logs through the logger below
		NoSigs:                     true,
	})
	if err != nil {
		return nil, fail(errNATSStart, err, "the NATS server refused its configuration: %v", err)
	}
	logger := &natsLogger{log: c.log().With("server", "nats"), fatal: make(chan string, 1)}
	s.SetLoggerV2(logger, false, false, false)
	s.Start()
	deadline := time.Now().Add(c.StartTimeout)
	for !s.ReadyForConnections(50 * time.Millisecond) {
		var err error
		select {
		case line := <-logger.fatal:
			err = fail(errNATSStart, nil, "the NATS server did not start on %s: %s", dir, line)
			if strings.Contains(line, syscall.EADDRINUSE.Error()) {
				err = portInUse(listenerNATS, port, nil)
			}
		case <-ctx.Done():
			err = fmt.Errorf("start NATS: %w", context.Cause(ctx))
		default:
			if time.Now().After(deadline) {
				err = fail(errNATSStart, nil, "the NATS server was not ready after %s: read its log for the reason, and check the load of this machine", c.StartTimeout)
			}
		}
		if err != nil {
			stopNATS(s, c.StopTimeout)
			return nil, err
		}
	}
	return s, nil
}

// stopNATS writes JetStream to disk and stops the server, within the limit.
func stopNATS(s *server.Server, limit time.Duration) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Shutdown()
		s.WaitForShutdown()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("stop NATS: the server did not stop within %s", limit)
	}
}

func natsURL(s *server.Server, creds credentials) string {
	u := url.URL{Scheme: "nats", User: url.UserPassword(natsUser, creds.NATS), Host: s.Addr().String()}
	return u.String()
}

// natsPassword authenticates the single user by password. The server's password option would log
// a warning at each start, or compute a bcrypt hash for each connection.
type natsPassword string

func (p natsPassword) Check(client server.ClientAuthentication) bool {
	given := client.GetOpts()
	return given.Username == natsUser && subtle.ConstantTimeCompare([]byte(given.Password), []byte(p)) == 1
}

// natsLogger passes the server's messages to slog. natsLogger keeps the first fatal message,
// because the server reports the reason of a failed start only in its log.
type natsLogger struct {
	log   *slog.Logger
	fatal chan string
}

func (l *natsLogger) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *natsLogger) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l *natsLogger) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l *natsLogger) Debugf(format string, v ...any)  {}
func (l *natsLogger) Tracef(format string, v ...any)  {}

func (l *natsLogger) Fatalf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	l.log.Error(line)
	select {
	case l.fatal <- line:
	default:
	}
}
