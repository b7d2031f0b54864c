package embedded

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// probe checks whether an engine is ready. A ready engine answers SELECT 1 over the native
// protocol and over HTTP, to a user with a secret password. A connection without a query would
// prove less, and would end an engine without a terminal.
type probe struct {
	options *clickhouse.Options
	http    string
	client  *http.Client
}

func newProbe(tcp, http_ int, creds credentials) *probe {
	return &probe{
		options: &clickhouse.Options{
			Addr:        []string{address(tcp)},
			Auth:        clickhouse.Auth{Username: writerUser, Password: creds.Writer},
			DialTimeout: time.Second,
			ReadTimeout: 5 * time.Second,
		},
		http: fmt.Sprintf("http://%s@%s/", url.UserPassword(writerUser, creds.Writer), address(http_)),
		client: &http.Client{
			Timeout:   2 * time.Second,
			Transport: &http.Transport{DisableKeepAlives: true},
		},
	}
}

// patient returns a probe with longer timeouts, for statements whose result is needed, also on a
// busy machine.
func (p *probe) patient() *probe {
	options := *p.options
	options.DialTimeout, options.ReadTimeout = time.Minute, time.Minute
	return &probe{options: &options, http: p.http, client: p.client}
}

func (p *probe) ready(ctx context.Context) error {
	if err := p.exec(ctx, "SELECT 1"); err != nil {
		return fmt.Errorf("over the native protocol: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.http, strings.NewReader("SELECT 1"))
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("over HTTP: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if err != nil {
		return fmt.Errorf("over HTTP: %w", err)
	}
	if resp.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != "1" {
		return fmt.Errorf("over HTTP: status %d", resp.StatusCode)
	}
	return nil
}

// exec runs one statement as the writer on a new connection.
func (p *probe) exec(ctx context.Context, sql string) error {
	conn, err := clickhouse.Open(p.options)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Exec(ctx, sql)
}
