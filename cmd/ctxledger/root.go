package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// app is what every subcommand has: the streams, the global flags and the
// ways to reach the servers.
type app struct {
	in       io.Reader
	out, err io.Writer
	flags    globalFlags
}

// run executes one command line and returns its exit code. Results go to out,
// everything else to stderr.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	a := &app{in: in, out: out, err: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(stderr)
	err := interrupted(ctx, root.ExecuteContext(ctx), "nothing was finished; run it again")
	if err != nil && !errors.Is(err, errRefused) {
		fmt.Fprintf(stderr, "ctxledger: %v\n", err)
	}
	return exitCode(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ctxledger",
		Short: "Record what AI agents had in their context windows, and ask about it",
		Long: `ctxledger keeps the context of AI agents accountable: what was available, what
was selected, what was left out and why, what was summarised, redacted or
missing. Facts are CloudEvents on NATS JetStream; answers are SQL on ClickHouse.

Start with "ctxledger demo". Results go to standard output, everything else to
standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some input
refused, 4 a verification said no, 5 could not reach a server.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.HasParent() && cmd.Parent().Name() == "completion" {
				return nil // shells ask for it in any folder
			}
			return a.flags.complete(cmd)
		},
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w (see `%s --help`)", err, cmd.CommandPath())
	})
	a.flags.register(root)
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "record", Title: "Record:"},
		&cobra.Group{ID: "ask", Title: "Ask:"}, &cobra.Group{ID: "keep", Title: "Look after:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", a.demoCommand(), a.upCommand(), a.projectCommand())
	add("record", a.importCommand(), a.publishCommand())
	add("ask", a.queryCommand(), a.windowCommand(), a.whyCommand(), a.diffCommand(), a.tailCommand(), a.evidenceCommand())
	add("keep", a.migrateCommand(), a.rebuildCommand(), a.quarantineCommand(), a.eraseCommand(), a.pricesCommand(), a.keysCommand(), a.proofCommand(), a.deployCommand(), a.schemaCommand(), a.conformanceCommand(), a.benchCommand(), a.doctorCommand(), a.versionCommand())
	return root
}

// knownCommand refuses an argument of a command that only has subcommands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("unknown command %q%s", strings.Join(append([]string{cmd.CommandPath()}, args[0]), " "), suggestions(cmd, args[0]))
	}
	return nil
}

// helpCommand is cobra's, with exit code 2 for a command that is not there. It
// reads no settings, so that it helps when those are broken.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Explain a command",
		Example:           "  ctxledger help\n  ctxledger help import",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if found, _, err := cmd.Root().Find(args); err == nil {
				for _, c := range found.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError("no command %q: see `ctxledger help`", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
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

// noArgs refuses arguments with exit code 2.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s takes no argument, found %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether w may be coloured: no-color.org, and a terminal that
// can.
func colour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

// log returns a logger to standard error, as the flags say.
func (a *app) log() *slog.Logger {
	options := &slog.HandlerOptions{Level: a.flags.logLevel}
	if a.flags.verbose {
		options.Level = slog.LevelDebug
	}
	if a.flags.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(a.err, options))
	}
	return slog.New(slog.NewTextHandler(a.err, options))
}
