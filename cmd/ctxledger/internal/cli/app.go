package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// App is what every subcommand has: the streams, the global flags and the
// ways to reach the servers.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Flags    GlobalFlags

	opened []func() // each closes a connection
}

// Close closes the connections that the command has opened, the newest first.
func (a *App) Close() {
	for _, end := range slices.Backward(a.opened) {
		end()
	}
}

// Log returns a logger to standard error, as the flags say.
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

func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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

// Width is how many characters a line of the results may have.
func (a *App) Width() int {
	if f, ok := a.Out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
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
