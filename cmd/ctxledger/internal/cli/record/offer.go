package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// clientLogs are the session logs of one client on this machine.
type clientLogs struct {
	cli.LogFolder
	logs  int
	bytes int64
}

// findLogs returns the session logs that the clients of this user keep, for each client that has some.
func findLogs() (found []clientLogs) {
	for _, folder := range cli.LogFolders() {
		files, _ := importer.Files(folder.Path, folder.Format) // the import names what cannot be read
		logs := clientLogs{LogFolder: folder}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && formatOf(file) == folder.Format {
				logs.logs++
				logs.bytes += info.Size()
			}
		}
		if logs.logs > 0 {
			found = append(found, logs)
		}
	}
	return found
}

// Offer shows a person at a terminal the session logs of this machine, and imports them if the person
// wants. ledger makes sure that a ledger runs until stop. Offer reports whether there was anything to
// offer; without a terminal or logs there is not.
func Offer(ctx context.Context, a *cli.App, ledger func(context.Context) (stop func(), err error)) (offered bool, err error) {
	if !cli.IsTerminal(a.In) || !cli.IsTerminal(a.Out) {
		return false, nil
	}
	found := findLogs()
	if len(found) == 0 {
		return false, nil
	}
	fmt.Fprintf(a.Out, "This machine has session logs:\n\n")
	var folders []string
	command := "ctxledger import auto"
	for _, l := range found {
		_ = ui.Line(a.Out, "  %-12s %6d logs %8s MB  %s", l.Client, l.logs, ui.Thousands(max(1, l.bytes>>20)), l.Path)
		folders = append(folders, l.Path)
		command += " " + ui.ShellQuote(l.Path)
	}
	fmt.Fprintf(a.Out, "\nThe ledger %s can have them. It stores digests, sizes and token\ncounts, and no texts. Nothing leaves this machine. Import them now? [y/N] ", ui.Safe(a.Flags.Data))
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		_ = ui.Line(a.Out, "Nothing was imported. Later: %s%s", command, a.Flags.DataArgument())
		fmt.Fprintln(a.Out, "All commands: ctxledger help")
		return true, nil
	}
	stop, err := ledger(ctx)
	if err != nil {
		return true, err
	}
	defer stop()
	err = importLogs(ctx, a, model.FormatAuto, folders, importFlags{tenant: schema.DefaultTenant, output: "table"})
	if err != nil && !errors.Is(err, cli.ErrRefused) {
		return true, err
	}
	fmt.Fprintf(a.Out, "\nThe ledger stays in its folder. Look at it with:\n")
	for _, next := range []string{"up", "query sessions", "report --last --out report.html"} {
		_ = ui.Line(a.Out, "  ctxledger %s%s", next, a.Flags.DataArgument())
	}
	return true, err
}
