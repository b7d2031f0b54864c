package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

type queryFlags struct {
	sql     string
	params  []string
	output  string
	maxTime time.Duration
	maxRows uint64
	// maxMemory is in MiB, on the server.
	maxMemory uint64
}

// Named asks within the default limits, for commands that have no flags for
// others.
func Named(params []string, output string) queryFlags {
	limits := read.DefaultLimits()
	return queryFlags{params: params, output: output, maxTime: limits.Time, maxRows: limits.Rows, maxMemory: limits.Memory >> 20}
}

func QueryCommand(a *cli.App) *cobra.Command {
	var flags queryFlags
	defaults := Named(nil, "table")
	cmd := &cobra.Command{
		Use:   "query NAME [--param name=value]… | query --sql STATEMENT",
		Short: "Ask a named question, or any in SQL; nothing can be changed",
		Long: `Ask a question of the catalogue by its name, or any question in SQL over the
views. Queries only read, within limits of time, rows and memory.

"ctxledger query list" is the catalogue; "ctxledger query show NAME" says what a
query answers, its parameters and its columns, and prints its SQL, which pastes
into any ClickHouse client. "ctxledger query views" lists the views that SQL of
your own reads; "ctxledger query show VIEW" explains one, column by column.`,
		Example: `  ctxledger query list
  ctxledger query session-usage
  ctxledger query compaction-boundaries --param session_id=0cf3db51-1c73-43bb-8d05-dc02739514a5
  ctxledger query views
  ctxledger query show cache_bill
  ctxledger query --sql 'SELECT layer, sum(tokens) FROM layer_usage GROUP BY layer' -o csv`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.UsageError("query takes one name, found %d", len(args))
			case len(args) == 1 && flags.sql != "":
				return cli.UsageError("give a name or --sql, not both")
			case len(args) == 0 && flags.sql == "":
				return cli.UsageError("give a name (see `ctxledger query list`) or --sql")
			}
			return nil
		},
		ValidArgsFunction: completeQuery,
		RunE:              func(cmd *cobra.Command, args []string) error { return RunQuery(cmd.Context(), a, args, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.sql, "sql", "", "a statement of your own")
	f.StringArrayVarP(&flags.params, "param", "p", nil, "a parameter, name=value; may be repeated")
	f.StringVarP(&flags.output, "output", "o", defaults.output, "table, json, csv, or parquet")
	f.DurationVar(&flags.maxTime, "max-time", defaults.maxTime, "give up after this long")
	f.Uint64Var(&flags.maxRows, "max-rows", defaults.maxRows, "give up after this many rows of result")
	f.Uint64Var(&flags.maxMemory, "max-memory", defaults.maxMemory, "give up at this many MiB of the server's memory")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the catalogue by question", Example: "  ctxledger query list", Args: cli.NoArgs, RunE: func(*cobra.Command, []string) error { return listQueries(a) }},
		&cobra.Command{Use: "views", Short: "List the views that SQL of your own reads", Example: "  ctxledger query views", Args: cli.NoArgs, RunE: func(*cobra.Command, []string) error { return listViews(a) }},
		&cobra.Command{Use: "show NAME|VIEW", Short: "Show what a query answers, and its SQL; or what a view's columns mean", Example: "  ctxledger query show session-usage\n  ctxledger query show cache_bill",
			Args: cli.OneName, ValidArgsFunction: completeQuery, RunE: func(_ *cobra.Command, args []string) error { return showQuery(a, args[0]) }},
	)
	return cmd
}

func completeQuery(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, q := range queries.All() {
			names = append(names, q.Name+"\t"+q.Title)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func listQueries(a *cli.App) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	section := ""
	for _, q := range queries.All() {
		if q.Section != section {
			section = q.Section
			fmt.Fprintf(w, "\n%s\n", section)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", q.Name, q.Title, parameterNames(q))
	}
	return w.Flush()
}

func listViews(a *cli.App) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, v := range migrate.Views() {
		fmt.Fprintf(w, "%s\t%s\n", v.Name, v.Title)
	}
	return w.Flush()
}

// showQuery prints a query, or what the columns of a view mean.
func showQuery(a *cli.App, name string) error {
	if v, ok := migrate.GetView(name); ok {
		w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s: %s\n\n", v.Name, v.Title)
		for _, c := range v.Columns {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, c.Type, c.Unit, c.About)
		}
		return w.Flush()
	}
	q, err := queries.Get(name)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, err)
	}
	_, err = fmt.Fprint(a.Out, q.SQL)
	return err
}

func parameterNames(q queries.Query) string {
	var names []string
	for _, p := range q.Parameters {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "needs " + strings.Join(names, ", ")
}

func RunQuery(ctx context.Context, a *cli.App, args []string, flags queryFlags) error {
	if !slices.Contains(ui.RowFormats, flags.output) && flags.output != "parquet" {
		return cli.UsageError("-o %q: want table, json, csv or parquet", flags.output)
	}
	if flags.maxTime <= 0 || flags.maxRows == 0 || flags.maxMemory == 0 || flags.maxMemory > math.MaxInt64>>20 {
		return cli.UsageError("--max-time, --max-rows and --max-memory must be above zero")
	}
	given := make(map[string]string)
	for _, p := range flags.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return cli.UsageError("--param %q: want name=value", p)
		}
		given[name] = value
	}
	asked := queries.Query{SQL: flags.sql}
	if flags.sql == "" {
		var err error
		if asked, err = queries.Get(args[0]); err == nil {
			given, err = asked.Bind(given)
		}
		if err != nil {
			return cli.WithCode(cli.ExitUsage, err)
		}
	}
	limits := read.DefaultLimits()
	limits.Time, limits.Rows, limits.Memory = flags.maxTime, flags.maxRows, flags.maxMemory<<20
	if flags.output == "parquet" {
		return queryParquet(ctx, a, asked.SQL, given, limits)
	}
	l, err := a.OpenReader(ctx)
	if err != nil {
		return err
	}
	result, err := turn.Query(ctx, l, asked, given, limits)
	if err != nil {
		return queryExit(err)
	}
	n, err := ui.WriteRows(a.Out, result, flags.output)
	if err = errors.Join(err, result.Close()); err != nil {
		return queryExit(err)
	}
	if flags.output == "table" && n == 0 {
		fmt.Fprintln(a.Err, "no rows")
	}
	return nil
}

// queryExit gives a statement that is wrong the exit code of wrong usage, and a
// limit that was reached the flag that raises it.
func queryExit(err error) error {
	var limit *read.LimitError
	if errors.As(err, &limit) {
		return fmt.Errorf("%w with --max-%s", err, limit.Limit)
	}
	if errors.Is(err, read.ErrStatement) || errors.Is(err, read.ErrReadOnly) {
		return cli.WithCode(cli.ExitUsage, err)
	}
	return err
}

// queryParquet lets the server write Parquet, which it does over HTTP only.
func queryParquet(ctx context.Context, a *cli.App, sql string, given map[string]string, limits read.Limits) error {
	if cli.IsTerminal(a.Out) {
		return cli.UsageError("parquet is binary: redirect it to a file")
	}
	dsn, err := httpReader(a)
	if err != nil {
		return err
	}
	l, err := cli.OpenDSN(ctx, dsn)
	if err != nil {
		return err
	}
	defer l.Close()
	stream, err := read.Of(l).QueryFormat(ctx, "Parquet", sql, given, limits)
	if err != nil {
		return queryExit(err)
	}
	_, err = io.Copy(a.Out, stream)
	return errors.Join(err, stream.Close())
}

// httpReader returns the reader's address over HTTP: as given, or that of the
// running instance.
func httpReader(a *cli.App) (string, error) {
	if a.Flags.ClickHouse != "" {
		if !strings.HasPrefix(a.Flags.ClickHouse, "http") {
			return "", cli.UsageError("-o parquet needs an http:// address of ClickHouse, which the server can write Parquet over")
		}
		return a.Flags.ClickHouse, nil
	}
	found, err := a.Addresses()
	if err != nil {
		return "", err
	}
	if found.HTTPURL == "" {
		return "", cli.WithCode(cli.ExitUnreachable, errors.New("no ClickHouse address: give an http:// one with --clickhouse"))
	}
	reader, err := url.Parse(found.ReaderDSN)
	if err != nil {
		return "", err
	}
	http, err := url.Parse(found.HTTPURL)
	if err != nil {
		return "", err
	}
	reader.Scheme, reader.Host = cmp.Or(http.Scheme, "http"), http.Host
	return reader.String(), nil
}
