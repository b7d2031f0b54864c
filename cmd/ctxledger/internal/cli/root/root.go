package root

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/ask"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/connect"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/contract"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/measure"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/operate"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/packs"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/prove"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/record"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/shards"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/wire"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/spf13/cobra"
)

// Main is the program: it executes the command line of this process, and ends the process. The
// demo's agent reads the files of sources.
func Main(sources fs.FS) {
	embedded.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends in order, a second one immediately
	code := Run(ctx, sources, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run executes one command line and returns its exit code. Results go to out,
// everything else to stderr.
func Run(ctx context.Context, sources fs.FS, args []string, in io.Reader, out, stderr io.Writer) int {
	a := &cli.App{In: in, Out: ui.NewGuard(out), Err: ui.NewGuard(stderr)}
	defer a.Close()
	root := command(a, sources)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err == nil && ctx.Err() == nil {
		err = cli.Whole(ctx, a)
	}
	err = cli.Interrupted(ctx, err, "nothing was finished; run it again")
	if err != nil && !errors.Is(err, cli.ErrRefused) && !errors.Is(err, cli.ErrChild) {
		fmt.Fprintf(a.Err, "ctxledger: %s\n", ui.Indented(err.Error()))
	}
	return cli.ExitCode(err)
}

func command(a *cli.App, sources fs.FS) *cobra.Command {
	root := &cobra.Command{
		Use:   "ctxledger",
		Short: "Record the context windows of AI agents, and ask about them",
		Long: `ctxledger keeps the context of AI agents accountable. It records the items that were
available, selected, left out and why, summarised, redacted or missing. Facts are
CloudEvents on NATS JetStream. Answers are SQL on ClickHouse.

Start with "ctxledger demo". "ctxledger help concepts" explains the words;
"ctxledger help start" shows three ways to begin. On a terminal, "ctxledger" alone finds
the session logs of this machine, and offers to import them.

Results go to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some input refused,
4 a verification failed, 5 could not reach a server.

Settings: a flag wins over the CTXLEDGER_… variable, and the variable wins over
ctxledger.yaml. CTXLEDGER_…_FILE names a file that holds the value. Passwords
are never arguments.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.HasParent() && cmd.Parent().Name() == "completion" {
				return nil // shells ask for it in any folder
			}
			return a.Flags.Complete(cmd)
		},
	}
	cli.Group(root)
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if a.NamesNATS() || a.Flags.ClickHouse != "" { // what is imported would leave this machine
			return cmd.Help()
		}
		offered, err := record.Offer(cmd.Context(), a, func(ctx context.Context) (func(), error) { return ledgerFor(ctx, a) })
		if offered || err != nil {
			return err
		}
		return cmd.Help()
	}
	root.SetHelpCommand(helpCommand(a))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.UsageError("%w (see `%s --help`)", err, cmd.CommandPath())
	})
	a.Flags.Register(root)
	fitHelp(a, root)
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "record", Title: "Record:"},
		&cobra.Group{ID: "ask", Title: "Ask:"}, &cobra.Group{ID: "keep", Title: "Look after:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", serve.DemoCommand(a, sources), serve.UpCommand(a), serve.ServeCommand(a), serve.TokenCommand(a), serve.ProjectCommand(a))
	add("record", wire.RunCommand(a, serve.StartLedger), wire.CaptureCommand(a), record.ImportCommand(a), record.PublishCommand(a))
	add("ask", ask.QueryCommand(a), ask.WindowCommand(a), ask.ReportCommand(a), ask.WhyCommand(a), ask.DiffCommand(a), ask.TailCommand(a), packs.Command(a))
	add("keep", operate.MigrateCommand(a), operate.RebuildCommand(a), operate.BackupCommand(a), operate.StorageCommand(a), operate.RetentionCommand(a), operate.QuarantineCommand(a), operate.EraseCommand(a), operate.RedactionCommand(a), operate.PricesCommand(a), shards.Command(a), operate.KeysCommand(a), prove.Command(a), operate.DeployCommand(a), contract.SchemaCommand(a), contract.ConformanceCommand(a), measure.Command(a), operate.DoctorCommand(a), connect.Command(a), contract.VersionCommand(a))
	return root
}

// ledgerFor starts a ledger on the data folder unless one runs there. stop ends what it started.
func ledgerFor(ctx context.Context, a *cli.App) (stop func(), err error) {
	if _, err := a.Addresses(); !errors.Is(err, embedded.ErrNotRunning) {
		return func() {}, err
	}
	l, err := serve.StartLedger(ctx, a)
	return l.Stop, err
}

// fitHelp wraps the help of all commands to the width of the terminal.
func fitHelp(a *cli.App, root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		width := a.TableWidth()
		if width < ui.NoLimit {
			cmd.Long = ui.Reflow(cmd.Long, width)
		}
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(nil)
		_, _ = io.WriteString(a.Out, ui.Fit(text.String(), width))
	})
}

// helpCommand is cobra's, with topics and with exit code 2 for a command that does not
// exist. It reads no settings, because help must work when the settings are broken.
func helpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Explain a command or a topic",
		Long: `Explain a command or a topic. The topics are concepts, the words that ctxledger
uses, and start, three ways to begin.`,
		Example:           "  ctxledger help\n  ctxledger help import\n  ctxledger help concepts\n  ctxledger help start",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				names = topicNames()
			}
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
			if t := topicNamed(args); t != nil {
				_, err := io.WriteString(a.Out, ui.Fit(t.text, a.TableWidth()))
				return err
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UsageError("no command %q: see `ctxledger help`", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
