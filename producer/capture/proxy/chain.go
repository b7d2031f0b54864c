package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"time"
)

// discard drops the messages of servers, which may quote requests.
var discard = log.New(io.Discard, "", 0)

// through connects to an address by another HTTP proxy.
func through(ctx context.Context, proxy *url.URL, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	at := net.JoinHostPort(proxy.Hostname(), portOf(proxy))
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: make(http.Header)}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := ask.Write(conn); err != nil {
		conn.Close()
		return nil, err
	}
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, ask)
	if err != nil || response.StatusCode != http.StatusOK {
		conn.Close()
		return nil, errRefused
	}
	return &bufferedConn{Conn: conn, from: from}, nil
}
