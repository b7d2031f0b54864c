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
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/cluster/answer"
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
	wide      bool
	csvSafe   bool
	last      bool
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
		Short: "Ask a named question or a statement in SQL; queries only read",
		Long: `Ask a question of the catalogue by its name, or ask the views in SQL. Queries only
read, within limits of time, rows and memory.

"ctxledger query list" lists the catalogue. "ctxledger query show NAME" prints a
query with its parameters and columns; the SQL can be pasted into any ClickHouse
client. "ctxledger query views" lists the views for statements of yours, and
"ctxledger query show VIEW" explains the columns of one. On a cluster each shard
answers a statement for its own sessions, and the first column is the shard.

On a terminal a table fits the width of the terminal. Ids are shortened, and values
that all rows share are printed once. The last columns may be left out; the line
below the table lists their names. --wide prints all columns, and -o vertical prints
one line for each value.

` + cli.IDHelp + ` --last fills the session and the turn with the newest.`,
		Example: `  ctxledger query list
  ctxledger query session-usage
  ctxledger query turns --last
  ctxledger query compaction-boundaries --param session_id=0cf3db51
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
	cli.OutputFlag(f, &flags.output, "table, json, csv, vertical, or parquet", append(slices.Clone(ui.RowFormats), "parquet")...)
	f.BoolVar(&flags.wide, "wide", false, "print all columns of a table, and whole ids")
	f.BoolVar(&flags.csvSafe, "csv-safe", false, "in CSV, put an apostrophe before cells that a spreadsheet would run (= + - @)")
	f.BoolVar(&flags.last, "last", false, "ask about the newest session or turn")
	f.DurationVar(&flags.maxTime, "max-time", defaults.maxTime, "give up after this long")
	f.Uint64Var(&flags.maxRows, "max-rows", defaults.maxRows, "give up after this many rows of result")
	f.Uint64Var(&flags.maxMemory, "max-memory", defaults.maxMemory, "give up at this many MiB of the server's memory")
	cmd.AddCommand(
		listCommand(a, "list", "List the catalogue by question", listQueries),
		listCommand(a, "views", "List the views that SQL of your own reads", listViews),
		&cobra.Command{Use: "show NAME|VIEW", Short: "Show the SQL of a query, or the columns of a view", Example: "  ctxledger query show session-usage\n  ctxledger query show cache_bill",
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

// listCommand is a subcommand that lists something, as a table or as JSON.
func listCommand(a *cli.App, use, short string, list func(*cli.App, string) error) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: use, Short: short, Example: "  ctxledger query " + use + "\n  ctxledger query " + use + " -o json", Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error { return list(a, output) },
	}
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

// listedQuery is a query in the JSON of `query list`.
type listedQuery struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Section  string   `json:"section"`
	Required []string `json:"required"`
	Optional []string `json:"optional"`
	Columns  []string `json:"columns"`
}

func listQueries(a *cli.App, output string) error {
	var listed []listedQuery
	for _, q := range queries.All() {
		one := listedQuery{Name: q.Name, Title: q.Title, Section: q.Section}
		for _, p := range q.Parameters {
			if p.Required {
				one.Required = append(one.Required, p.Name)
			} else {
				one.Optional = append(one.Optional, p.Name)
			}
		}
		for _, c := range q.Columns {
			one.Columns = append(one.Columns, c.Name)
		}
		listed = append(listed, one)
	}
	if output == "json" {
		return a.PrintJSON(listed)
	}
	for _, section := range queries.Sections {
		t := ui.Table{Columns: []ui.Column{{}, {Least: 24, Wrap: true}}}
		for _, q := range listed {
			if q.Section != section {
				continue
			}
			text := q.Title
			if len(q.Required) > 0 {
				text += "\nneeds " + strings.Join(q.Required, ", ")
			}
			t.Rows = append(t.Rows, []string{q.Name, text})
		}
		fmt.Fprintf(a.Out, "\n%s\n", section)
		if err := t.Write(a.Out, a.TableWidth(), "  "); err != nil {
			return err
		}
	}
	return nil
}

// listedView is a view in the JSON of `query views`.
type listedView struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

func listViews(a *cli.App, output string) error {
	t := ui.Table{Columns: []ui.Column{{}, {Least: 24, Wrap: true}}}
	var listed []listedView
	for _, v := range migrate.Views() {
		listed = append(listed, listedView{v.Name, v.Title})
		t.Rows = append(t.Rows, []string{v.Name, v.Title})
	}
	if output == "json" {
		return a.PrintJSON(listed)
	}
	return t.Write(a.Out, a.TableWidth(), "")
}

// showQuery prints the SQL of a query, or the columns of a view.
func showQuery(a *cli.App, name string) error {
	if v, ok := migrate.GetView(name); ok {
		fmt.Fprintf(a.Out, "%s: %s\n\n", v.Name, ui.Wrap(v.Title, a.TableWidth(), len(v.Name)+2, ""))
		t := ui.Table{Columns: []ui.Column{{}, {Least: 8}, {}, {Least: 24, Wrap: true}}}
		for _, c := range v.Columns {
			t.Rows = append(t.Rows, []string{c.Name, c.Type, c.Unit, c.About})
		}
		return t.Write(a.Out, a.TableWidth(), "")
	}
	q, err := queries.Get(name)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, err)
	}
	_, err = fmt.Fprint(a.Out, q.SQL)
	return err
}

// RunQuery asks a named question or a statement, and prints the rows.
func RunQuery(ctx context.Context, a *cli.App, args []string, flags queryFlags) error {
	if flags.maxTime <= 0 || flags.maxRows == 0 || flags.maxMemory == 0 || flags.maxMemory > math.MaxInt64>>20 {
		return cli.UsageError("--max-time, --max-rows and --max-memory must be above zero")
	}
	if format, ok := serverFormat(flags.sql); ok {
		return cli.UsageError("--sql ends with FORMAT %s, which has no effect here: remove it and give -o %s", format, outputFor(format))
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
		if asked, err = queries.Get(args[0]); err != nil {
			return cli.WithCode(cli.ExitUsage, err)
		}
		ids := idsOf(asked, given)
		if err := ids.FromRows(a); err != nil {
			return err
		}
		setIDs(given, ids)
		if _, err := asked.Bind(given); err != nil && !flags.last {
			return cli.WithCode(cli.ExitUsage, err)
		}
	}
	limits := read.DefaultLimits()
	limits.Time, limits.Rows, limits.Memory = flags.maxTime, flags.maxRows, flags.maxMemory<<20
	l, shards, err := cli.OpenReaders(ctx, a)
	if err != nil {
		return err
	}
	if shards != nil {
		return queryShards(ctx, a, shards, asked, given, limits, flags)
	}
	if flags.sql == "" {
		if err := completeParameters(ctx, a, l, asked, given, flags.last); err != nil {
			return err
		}
		if given, err = asked.Bind(given); err != nil {
			return cli.WithCode(cli.ExitUsage, err)
		}
	}
	if flags.output == "parquet" {
		return queryParquet(ctx, a, asked.SQL, given, limits)
	}
	result, err := turn.Query(ctx, l, asked, given, limits)
	if err != nil {
		return queryExit(asked.SQL, err)
	}
	return printAnswer(a, asked, result, flags)
}

// queryShards asks a named question of all shards of a cluster, or gives each of them the statement.
func queryShards(ctx context.Context, a *cli.App, shards *cluster.Ledgers, asked queries.Query, given map[string]string, limits read.Limits, flags queryFlags) error {
	if flags.output == "parquet" {
		if _, err := parquetAddress(a); err != nil {
			return err
		}
	}
	if flags.sql != "" {
		rows, err := answer.Statement(ctx, shards, flags.sql, limits)
		if errors.Is(err, answer.ErrShardColumn) {
			return cli.WithCode(cli.ExitUsage, err)
		}
		if err != nil {
			return queryExit(flags.sql, err)
		}
		if flags.output == "parquet" {
			return encodeParquet(ctx, a, rows, limits)
		}
		return printAnswer(a, asked, rows, flags)
	}
	if flags.last {
		err := fillNewest(asked, given, func(tenant, session string) (read.NamedID, error) {
			return newestTurn(ctx, a, shards, tenant, session)
		})
		if err != nil {
			return err
		}
	}
	bound, err := asked.Bind(given)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, err)
	}
	rows, err := answer.Query(ctx, shards, asked, bound, limits)
	if errors.Is(err, answer.ErrNotOnCluster) {
		return cli.WithCode(cli.ExitUsage, err)
	}
	if err != nil {
		return queryExit(asked.SQL, err)
	}
	if flags.output == "parquet" {
		return encodeParquet(ctx, a, rows, limits)
	}
	return printAnswer(a, asked, rows, flags)
}

// printAnswer prints the rows of an answer, and closes it.
func printAnswer(a *cli.App, asked queries.Query, result read.Rows, flags queryFlags) error {
	rows := result
	if flags.sql == "" {
		rows = ui.Timed(rows)
	}
	n, err := a.PrintRows(rows, cli.RowsForm{Format: flags.output, Wide: flags.wide, CSVSafe: flags.csvSafe, First: asked.First})
	if err = errors.Join(err, result.Close()); err != nil {
		return queryExit(asked.SQL, err)
	}
	if flags.output == "table" && n == 0 {
		fmt.Fprintln(a.Err, "no rows")
	}
	return nil
}

// queryExit adds the next step to an error of a query: the flag that raises a limit, or names
// like an unknown one. A wrong statement is wrong usage.
func queryExit(sql string, err error) error {
	var limit *read.LimitError
	if errors.As(err, &limit) {
		return fmt.Errorf("%w with --max-%s", err, limit.Limit)
	}
	if name, ok := unknownView(err); ok && errors.Is(err, read.ErrNotMigrated) && !known(name) {
		return fmt.Errorf("there is no view %q%s; `ctxledger query views` lists the views; run `ctxledger migrate` if it should be there", name, didYouMean(name, viewNames()))
	}
	if name, ok := unknownColumn(err); ok {
		return cli.UsageError("there is no column %q%s; `ctxledger query show VIEW` lists the columns of a view", name, didYouMean(name, columnNames(sql)))
	}
	if errors.Is(err, read.ErrStatement) || errors.Is(err, read.ErrReadOnly) {
		return cli.WithCode(cli.ExitUsage, err)
	}
	return err
}

// queryParquet lets the server write Parquet, which it does over HTTP only.
func queryParquet(ctx context.Context, a *cli.App, sql string, given map[string]string, limits read.Limits) error {
	return overHTTP(ctx, a, sql, func(l read.Reader) (io.ReadCloser, error) {
		return l.QueryFormat(ctx, "Parquet", sql, given, limits)
	})
}

// encodeParquet lets one shard write the answer of all shards as Parquet, and closes the answer.
func encodeParquet(ctx context.Context, a *cli.App, rows read.Rows, limits read.Limits) error {
	defer rows.Close() // again, unless no shard was reached
	return overHTTP(ctx, a, "", func(l read.Reader) (io.ReadCloser, error) {
		return l.Encode(ctx, "Parquet", rows, limits)
	})
}

// overHTTP prints what the server encodes.
func overHTTP(ctx context.Context, a *cli.App, sql string, encode func(read.Reader) (io.ReadCloser, error)) error {
	dsn, err := parquetAddress(a)
	if err != nil {
		return err
	}
	l, err := cli.OpenAny(ctx, dsn)
	if err != nil {
		return err
	}
	defer l.Close()
	stream, err := encode(read.Of(l))
	if err != nil {
		return queryExit(sql, err)
	}
	_, err = io.Copy(a.Data(), stream)
	return errors.Join(err, stream.Close())
}

// parquetAddress returns the address of the server that writes Parquet, which cannot go to a terminal.
func parquetAddress(a *cli.App) (string, error) {
	if cli.IsTerminal(a.Out) {
		return "", cli.UsageError("parquet is binary: redirect it to a file")
	}
	return httpReader(a)
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
