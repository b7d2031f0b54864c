package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// App holds the streams and global flags of a command line, and connects to the servers.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Flags    GlobalFlags

	opened []func()                      // each closes a connection
	whole  []func(context.Context) error // each checks that no partition moved during the answer
}

// Close closes the connections that the command has opened, the newest first.
func (a *App) Close() {
	for _, end := range slices.Backward(a.opened) {
		end()
	}
}

// Log returns the logger of the flags, which writes to standard error.
func (a *App) Log() *slog.Logger {
	options := &slog.HandlerOptions{Level: a.Flags.logLevel}
	if a.Flags.verbose {
		options.Level = slog.LevelDebug
	}
	if a.Flags.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(a.Err, options))
	}
	return slog.New(slog.NewTextHandler(a.Err, options))
}

// IsTerminal reports whether a reader or writer is a terminal, guarded or not.
func IsTerminal(w any) bool {
	f := ui.File(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Data returns the writer for data that programs read. In a pipe the data are not
// changed; on a terminal they are guarded.
func (a *App) Data() io.Writer {
	if IsTerminal(a.Out) {
		return a.Out
	}
	return ui.Raw(a.Out)
}

// colour reports whether w may be coloured: no-color.org, and a terminal that
// can.
func colour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// NoArgs refuses arguments with exit code 2.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError("%s takes no argument, found %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Group makes cmd a command that only has subcommands.
func Group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = knownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// knownCommand refuses an argument of a command that only has subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError("unknown command %q%s", strings.Join(append([]string{cmd.CommandPath()}, args[0]), " "), suggestions(cmd, args[0]))
	}
	return nil
}

// suggestions names the commands that a mistyped one may have meant.
func suggestions(cmd *cobra.Command, typed string) string {
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(typed)
	if len(near) == 0 {
		return fmt.Sprintf(": see `%s --help`", cmd.CommandPath())
	}
	return fmt.Sprintf(": did you mean %q?", near[0])
}

// Width is the most columns of a terminal that a line of a drawing takes.
func (a *App) Width() int {
	if columns := a.columns(); columns > 0 {
		return columns
	}
	return 80
}

// TableWidth is the most columns of a terminal that a line of a table takes. A pipe has
// no limit: programs find each row on one line.
func (a *App) TableWidth() int {
	if columns := a.columns(); columns > 0 {
		return columns
	}
	return ui.NoLimit
}

// columns returns the width of the terminal, or COLUMNS, or 0 where neither is known.
func (a *App) columns() int {
	if f := ui.File(a.Out); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 0
}

// RowsForm is the form in which [App.PrintRows] prints.
type RowsForm struct {
	Format  string   // one of ui.RowFormats
	Wide    bool     // all columns of a table, and whole ids
	CSVSafe bool     // defused cells also in a pipe
	First   []string // columns that a narrow table shows before the others
}

// PrintRows prints rows, remembers their ids, and returns their number. A table fits
// into the terminal; in a pipe it is whole.
func (a *App) PrintRows(rows read.Rows, form RowsForm) (int, error) {
	terminal := IsTerminal(a.Out)
	f := ui.Form{Format: form.Format, Terminal: terminal, CSVSafe: form.CSVSafe || terminal, First: form.First}
	if !form.Wide {
		f.Width = a.columns()
	}
	out := a.Out
	if form.Format != "table" {
		out = a.Data()
	}
	n, drawn, err := ui.WriteRows(out, rows, f)
	if err == nil {
		remember(a, drawn)
	}
	return n, err
}

func (a *App) Style() windowview.Style {
	return windowview.Style{Width: a.Width(), Colour: colour(a.Out)}
}

func OneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return UsageError("%s takes one name", cmd.CommandPath())
	}
	return nil
}
