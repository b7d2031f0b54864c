package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// Servers are running servers. Safe for concurrent use.
type Servers struct {
	config    Config
	lock      *flock.Flock
	creds     credentials
	nats      *server.Server // nil without NATS
	engine    *engine        // nil without ClickHouse
	addresses Addresses
	moves     []Move

	closeOnce sync.Once
	closeErr  error
}

// Start starts the servers of c and returns when they are ready. NATS then accepts connections.
// ClickHouse has answered SELECT 1 over both protocols and has the database. The first Start on a
// machine may fetch the engine; ctx can end the fetch. If Start returns an error, no server is
// left running.
//
// Each error names the next step. Errors: ErrConfig, and the errors of Unavailable.
func Start(ctx context.Context, c Config) (_ *Servers, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	s := &Servers{config: c}
	if s.lock, err = lockDir(c.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.creds, err = openCredentials(c.Dir); err != nil {
		return nil, err
	}
	s.addresses.PID = os.Getpid()
	ports, listening := portsOf(c), make(map[Listener]int)
	if !c.NoNATS {
		if s.nats, err = startNATS(ctx, c, s.creds, ports); err != nil {
			return nil, err
		}
		s.addresses.NATSURL = natsURL(s.nats, s.creds)
		listening[listenerNATS] = s.nats.Addr().(*net.TCPAddr).Port
	}
	if !c.NoClickHouse {
		if s.engine, err = startEngine(ctx, c, s.creds, ports); err != nil {
			return nil, err
		}
		listening[listenerClickHouse], listening[listenerClickHouseHTTP] = s.engine.tcp, s.engine.http
		// The name has passed validDatabase.
		err := s.Again(ctx, func() error {
			return newProbe(s.engine.tcp, s.engine.http, s.creds).patient().exec(ctx, "CREATE DATABASE IF NOT EXISTS "+c.Database)
		})
		if err != nil {
			return nil, fmt.Errorf("create the database %s: %w", c.Database, err)
		}
		s.nameDatabase(c.Database)
		s.addresses.HTTPURL = "http://" + address(s.engine.http)
	}
	s.moves = ports.moves(listening)
	if err := ports.keep(c.Dir, listening); err != nil {
		return nil, err
	}
	if err := s.creds.writeForClients(c.Dir, s.addresses); err != nil {
		return nil, err
	}
	return s, s.writeAddresses()
}

func (s *Servers) writeAddresses() error {
	if err := writeJSON(filepath.Join(s.config.Dir, addressesFile), s.addresses); err != nil {
		return fmt.Errorf("write the addresses: %w", err)
	}
	return nil
}

// Announce adds the base URL of the program's HTTP server to the addresses. Call it once, before
// other goroutines use s.
func (s *Servers) Announce(url string) error {
	s.addresses.ProgramURL = url
	return s.writeAddresses()
}

// Moves returns the servers whose kept port was taken, with the new ports.
func (s *Servers) Moves() []Move { return s.moves }

func (s *Servers) nameDatabase(name string) {
	dsn := func(user, password string) string {
		u := url.URL{Scheme: "clickhouse", User: url.UserPassword(user, password), Host: address(s.engine.tcp), Path: "/" + name}
		return u.String()
	}
	s.addresses.ClickHouseDSN = dsn(writerUser, s.creds.Writer)
	s.addresses.ReaderDSN = dsn(readerUser, s.creds.Reader)
}

// Addresses returns the addresses of the servers. They stay the same until Close.
func (s *Servers) Addresses() Addresses { return s.addresses }

// NATSURL is nats://user:password@127.0.0.1:port, or empty without NATS.
func (s *Servers) NATSURL() string { return s.addresses.NATSURL }

// ClickHouseDSN is clickhouse://user:password@127.0.0.1:port/database for the writer. The writer
// has all rights. ClickHouseDSN is empty without ClickHouse.
func (s *Servers) ClickHouseDSN() string { return s.addresses.ClickHouseDSN }

// ReaderDSN is the address for the reader. The reader can read only the ledger's databases and a
// few system tables. The reader has limits of time, memory and rows. A query can change the
// limits only within bounds.
func (s *Servers) ReaderDSN() string { return s.addresses.ReaderDSN }

// HTTPURL is the address of ClickHouse's HTTP interface, without user and password.
func (s *Servers) HTTPURL() string { return s.addresses.HTTPURL }

// NATSServer is the NATS server, nil without NATS.
func (s *Servers) NATSServer() *server.Server { return s.nats }

// NATSHealth returns what NATS says is wrong with it, or "". A stream whose disk was full takes no messages
// until NATS is restarted, and gives publishers no answer; only this tells. Safe for concurrent use.
func (s *Servers) NATSHealth() string {
	if s.nats == nil {
		return ""
	}
	return s.nats.Healthz(nil).Error
}

// Restarts returns the number of restarts of ClickHouse.
func (s *Servers) Restarts() int {
	if s.engine == nil {
		return 0
	}
	return int(s.engine.restarts.Load())
}

// engineReturns is the longest wait for an engine that has ended to answer again.
const engineReturns = 30 * time.Second

// Again runs a step that uses ClickHouse. If ClickHouse ended meanwhile, Again repeats the step once
// ClickHouse answers again. The step must be one that may be repeated after every interruption.
func (s *Servers) Again(ctx context.Context, step func() error) error {
	for {
		before := s.Restarts()
		err := step()
		if err == nil || s.engine == nil || !lostConnection(err) {
			return err
		}
		for end := time.Now().Add(engineReturns); s.Restarts() == before; {
			if time.Now().After(end) {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// lostConnection reports whether an error is of a connection.
func lostConnection(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// EnginePID is the process id of the running ClickHouse, 0 without ClickHouse. A restart changes
// the process id.
func (s *Servers) EnginePID() int {
	if s.engine == nil {
		return 0
	}
	return s.engine.child.Load().cmd.Process.Pid
}

// Close stops both servers in order and unlocks the folder. Close takes at most StopTimeout for
// each server. An engine that needs longer is killed, which loses no acknowledged write. A second
// call returns the first result.
func (s *Servers) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if err := os.Remove(filepath.Join(s.config.Dir, addressesFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove the addresses: %w", err))
		}
		if s.nats != nil {
			errs = append(errs, stopNATS(s.nats, s.config.StopTimeout))
		}
		if s.engine != nil {
			errs = append(errs, s.engine.stop())
		}
		errs = append(errs, s.lock.Unlock())
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}
