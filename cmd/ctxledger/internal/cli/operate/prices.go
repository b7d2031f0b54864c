package operate

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/ask"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// pricesHelp explains the two forms of a price file.
const pricesHelp = `Import the prices of tokens: queries then show money next to tokens. The ledger has no
built-in prices. A model without a price stays unpriced, and queries count its calls.
All tenants share the prices.

A price has a model, a bucket, a price per million tokens, a currency, optional dates,
and its source. In a model name, * matches any characters; the longest matching name
applies. Buckets are input, cache_read, cache_write_5m, cache_write_1h, cache_write,
output and reasoning. CSV has these columns:

  model,bucket,per_million,currency,valid_from,valid_until,source
  example-1*,input,2.50,USD,2026-01-01,,https://example.com/prices

and YAML is a list of the same:

  - {model: example-1*, bucket: input, per_million: 2.50, currency: USD, valid_from: 2026-01-01, source: "https://example.com/prices"}`

func PricesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "prices", Short: "Import or list the prices of tokens", Long: pricesHelp,
		Example: "  ctxledger prices import prices.csv\n  ctxledger prices list\n  ctxledger query model-costs",
	}
	var output string
	list := &cobra.Command{
		Use: "list", Short: "List the prices", Example: "  ctxledger prices list\n  ctxledger prices list -o csv > prices.csv", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask.RunQuery(cmd.Context(), a, []string{"prices"}, ask.Named(nil, output))
		},
	}
	list.Flags().StringVarP(&output, "output", "o", "table", "table, json, csv, or parquet")
	var replace bool
	load := &cobra.Command{
		Use: "import FILE", Short: "Read prices from a CSV or YAML file", Long: pricesHelp,
		Example: "  ctxledger prices import prices.csv\n  ctxledger prices import prices.yaml --replace",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("prices import takes one file, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return importPrices(cmd.Context(), a, args[0], replace) },
	}
	load.Flags().BoolVar(&replace, "replace", false, "take away every price that the file does not have")
	return cli.Group(cmd, list, load)
}

// importPrices stores the prices of a file, all of them or, if one is wrong, none.
func importPrices(ctx context.Context, a *cli.App, file string, replace bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	prices, err := parsePrices(file, text)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, fmt.Errorf("%s: %w; nothing was imported", file, err))
	}
	l, err := a.OpenLedger(ctx)
	if err != nil {
		return err
	}
	if err := read.Of(l).ImportPrices(ctx, prices, replace); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%d prices imported\n", len(prices))
	return err
}

// priceFields are the columns of a price file; the last three of them may be left
// empty but for the source.
var priceFields = []string{"model", "bucket", "per_million", "currency", "valid_from", "valid_until", "source"}

// parsePrices reads a price file: YAML if it is named so, else CSV. Its error names the wrong
// price and the allowed values.
func parsePrices(file string, text []byte) ([]read.Price, error) {
	parse := pricesOfCSV
	if strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") {
		parse = pricesOfYAML
	}
	entries, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New("the file has no price")
	}
	prices := make([]read.Price, len(entries))
	for i, entry := range entries {
		if prices[i], err = priceOf(entry); err == nil {
			err = prices[i].Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("price %d: %w", i+1, err)
		}
	}
	return prices, nil
}

func pricesOfYAML(text []byte) ([]map[string]string, error) {
	var list []map[string]any
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("want a list of prices: %w", err)
	}
	entries := make([]map[string]string, len(list))
	for i, given := range list {
		entries[i] = make(map[string]string)
		for name, value := range given {
			if value != nil {
				entries[i][name] = fmt.Sprint(value)
			}
		}
	}
	return entries, nil
}

func pricesOfCSV(text []byte) ([]map[string]string, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	var entries []map[string]string
	for err == nil {
		var row []string
		if row, err = r.Read(); err != nil {
			break
		}
		entry := make(map[string]string)
		for i, name := range head {
			entry[strings.TrimSpace(name)] = strings.TrimSpace(row[i])
		}
		entries = append(entries, entry)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return entries, nil
}

// priceOf reads the fields of one price.
func priceOf(entry map[string]string) (p read.Price, err error) {
	for name := range entry {
		if !slices.Contains(priceFields, name) {
			return p, fmt.Errorf("unknown field %q, want %s", name, strings.Join(priceFields, ", "))
		}
	}
	p = read.Price{Model: entry["model"], Bucket: read.Bucket(entry["bucket"]), Currency: entry["currency"], Source: entry["source"]}
	if p.PerMillion, err = strconv.ParseFloat(entry["per_million"], 64); err != nil {
		return p, fmt.Errorf("per_million is %q, want a number: the price of a million tokens", entry["per_million"])
	}
	if p.ValidFrom, err = priceTime("valid_from", entry["valid_from"]); err != nil {
		return p, err
	}
	p.ValidUntil, err = priceTime("valid_until", entry["valid_until"])
	return p, err
}

// priceTime reads a day or a time; ” is zero, and so is the beginning as
// `prices list` prints it.
func priceTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is %q, want a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z", field, text)
}
