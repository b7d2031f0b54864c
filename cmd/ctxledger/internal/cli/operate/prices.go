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
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// pricesHelp explains the forms of a price file.
const pricesHelp = `Import the prices of tokens: queries show money next to tokens. A small built-in list
has the prices and limits of current models on the day that its source names. It
applies to models that no imported price matches. Queries name the sources that they
used. ` + "`ctxledger prices built-in off`" + ` switches the list off. A model without any price
stays unpriced, and queries count its calls. All tenants share the prices. A count that
a log has only as a placeholder is not priced: the cost of its call is at least the rest.

A JSON file is LiteLLM's model_prices_and_context_window.json, as it is. It has prices
of a token in US dollars, and the limits of models. Members without a meaning here are
named. Wrong figures are left out and named, and the exit code is then 3.

A price has a model, a bucket, a price per million tokens, a currency, optional dates,
and its source. In a model name, * matches any characters; the longest matching name
applies. Buckets are input, cache_read, cache_write_5m, cache_write_1h, cache_write,
output and reasoning. A bucket such as input_above_200k has the price of the whole call
once its window has more than 200,000 tokens. A CSV or YAML file is imported whole or
not at all. CSV has these columns:

  model,bucket,per_million,currency,valid_from,valid_until,source
  example-1*,input,2.50,USD,2026-01-01,,https://example.com/prices

and YAML is a list of the same:

  - {model: example-1*, bucket: input, per_million: 2.50, currency: USD, valid_from: 2026-01-01, source: "https://example.com/prices"}`

func PricesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "prices", Short: "Import or list the prices of tokens", Long: pricesHelp,
		Example: "  ctxledger prices import prices.csv\n  ctxledger prices list\n  ctxledger prices built-in off\n  ctxledger query model-costs",
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
		Use: "import FILE", Short: "Read prices from a LiteLLM, CSV or YAML file", Long: pricesHelp,
		Example: "  ctxledger prices import prices.csv\n  ctxledger prices import prices.yaml --replace\n  ctxledger prices import model_prices_and_context_window.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("prices import takes one file, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return importPrices(cmd.Context(), a, args[0], replace) },
	}
	load.Flags().BoolVar(&replace, "replace", false, "take away every imported price that the file does not have")
	return cli.Group(cmd, list, load, builtInCommand(a))
}

// builtInCommand switches the built-in list.
func builtInCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "built-in on|off", Short: "Switch the built-in list of prices and limits on or off",
		Example: "  ctxledger prices built-in off\n  ctxledger prices built-in on",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "on" && args[0] != "off" {
				return cli.UsageError("prices built-in takes one word, on or off")
			}
			return nil
		},
		ValidArgs: []string{"on", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := cli.OnEvery(cmd.Context(), a, func(_ string, l *ledger.Ledger) error {
				return read.Models(l).SetBuiltIn(cmd.Context(), args[0] == "on")
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "the built-in list of prices is %s\n", args[0])
			return err
		},
	}
}

// importPrices stores the prices and limits of a file. Of a CSV or YAML file with a wrong price
// nothing is stored.
func importPrices(ctx context.Context, a *cli.App, file string, replace bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	given, err := readPrices(file, text)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, fmt.Errorf("%s: %w; nothing was imported", file, err))
	}
	err = cli.OnEvery(ctx, a, func(_ string, l *ledger.Ledger) error {
		if err := read.Models(l).ImportPrices(ctx, given.prices, replace); err != nil || len(given.limits) == 0 {
			return err
		}
		return read.Models(l).ImportLimits(ctx, given.limits)
	})
	if err != nil {
		return err
	}
	done := fmt.Sprintf("%d prices imported", len(given.prices))
	if len(given.limits) > 0 {
		done += fmt.Sprintf(", and the limits of %s", ui.Plural(len(given.limits), "model"))
	}
	for _, note := range given.notes {
		_ = ui.Line(a.Err, "%s: %s", file, note)
	}
	if _, err := fmt.Fprintln(a.Out, done); err != nil {
		return err
	}
	if given.refused {
		return cli.ErrRefused
	}
	return nil
}

// readPrices reads a price file: LiteLLM's if it is JSON.
func readPrices(file string, text []byte) (given priceFile, err error) {
	if strings.HasSuffix(file, ".json") || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		given, err = parseLiteLLM(file, text)
	} else if given.prices, err = parsePrices(file, text); err == nil {
		given.notes = severalCurrencies(given.prices)
	}
	if err == nil && len(given.prices) == 0 {
		err = errors.New("the file has no price")
		if len(given.notes) > 0 {
			err = fmt.Errorf("the file has no price that counts: %s", given.notes[0])
		}
	}
	return given, err
}

// severalCurrencies names the models that have prices in two currencies.
func severalCurrencies(prices []read.Price) (notes []string) {
	currency := make(map[string]string)
	var models []string
	for _, p := range prices {
		if was, ok := currency[p.Model]; ok && was != p.Currency && !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
		currency[p.Model] = p.Currency
	}
	if len(models) > 0 {
		notes = []string{"models with prices in two currencies are priced in the currency of their input: " + some(models)}
	}
	return notes
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
