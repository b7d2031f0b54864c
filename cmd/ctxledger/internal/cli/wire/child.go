package wire

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/capture/proxy"
)

// systemRoots are the files in which systems keep the certificates that they trust.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

// environment returns the variables of the child: those of this process, with the proxy and the
// certificate of its authority. folder takes the certificates, which are public.
func environment(own []string, address string, authority *proxy.Authority, folder string) ([]string, error) {
	value := func(name string) string {
		for _, v := range slices.Backward(own) {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	write := func(name string, before ...string) (string, error) {
		var text []byte
		for _, path := range before {
			if found, err := os.ReadFile(path); err == nil && path != "" {
				text = append(append(text, found...), '\n')
				break
			}
		}
		path := filepath.Join(folder, name)
		return path, os.WriteFile(path, append(text, authority.PEM()...), 0o600)
	}
	extra, err := write("extra.pem", value("NODE_EXTRA_CA_CERTS"))
	if err != nil {
		return nil, fmt.Errorf("write the certificate of this run: %w", err)
	}
	bundle, err := write("bundle.pem", append([]string{value("SSL_CERT_FILE")}, systemRoots...)...)
	if err != nil {
		return nil, fmt.Errorf("write the certificate of this run: %w", err)
	}
	set := [][2]string{
		{"HTTPS_PROXY", address}, {"https_proxy", address}, {"NODE_USE_ENV_PROXY", "1"},
		{"NODE_EXTRA_CA_CERTS", extra}, {"SSL_CERT_FILE", bundle}, {"REQUESTS_CA_BUNDLE", bundle}, {"CURL_CA_BUNDLE", bundle},
	}
	env := slices.DeleteFunc(slices.Clone(own), func(v string) bool {
		return slices.ContainsFunc(set, func(s [2]string) bool { return strings.HasPrefix(v, s[0]+"=") })
	})
	for _, s := range set {
		env = append(env, s[0]+"="+s[1])
	}
	return env, nil
}

// runChild runs the command on this terminal and passes signals on. The error has the exit code
// of the command, or 128 and the number of the signal that ended it.
func runChild(a *cli.App, args, env []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, ui.Raw(a.Out), ui.Raw(a.Err)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return cli.WithCode(cli.ExitUsage, fmt.Errorf("start %s: %w", args[0], errors.Unwrap(err)))
	}
	ended := make(chan struct{})
	go func() {
		shared := cli.IsTerminal(a.In) // the terminal gives its signals to the child, too
		for {
			select {
			case s := <-signals:
				if !shared || s != os.Interrupt && s != syscall.SIGQUIT {
					_ = cmd.Process.Signal(s)
				}
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return cli.WithCode(code, cli.ErrChild)
}
