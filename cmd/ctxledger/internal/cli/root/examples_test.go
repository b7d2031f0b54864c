package root_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
)

// eachExample calls f with each line of each command's examples.
func eachExample(f func(c *cobra.Command, line string)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); line != "" {
				f(c, line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(root.Command(&cli.App{}))
}

// commandsOf splits a line of a shell into the arguments of each ctxledger in it.
func commandsOf(line string) (commands [][]string) {
	line, _, _ = strings.Cut(line, " # ")
	line = strings.NewReplacer(`eval "$(`, "", `)"`, "").Replace(line)
	for _, separator := range []string{"&&", "|", ">"} {
		line = strings.ReplaceAll(line, separator, "\x00"+separator)
	}
	for part := range strings.SplitSeq(line, "\x00") {
		_, args, ok := strings.Cut(part, "ctxledger ")
		if before, _, _ := strings.Cut(part, "ctxledger "); !ok || strings.HasPrefix(part, ">") || strings.Contains(before, "'") {
			continue
		}
		commands = append(commands, shellWords(args))
	}
	return commands
}

// shellWords splits at spaces outside quotes.
func shellWords(text string) (words []string) {
	var quote rune
	word, open := "", false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && c == ' ':
			if open {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word, open = word+string(c), true
		}
	}
	if open {
		words = append(words, word)
	}
	return words
}

// TestEveryExampleParses: each example is a command that exists, with flags that exist and
// as many arguments as it takes.
func TestEveryExampleParses(t *testing.T) {
	t.Parallel()
	n := 0
	check := func(line string) {
		for _, args := range commandsOf(line) {
			n++
			command := root.Command(&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
			found, rest, err := command.Find(args)
			if err != nil || found == command {
				t.Errorf("%s: no such command: %v", line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil && found.Name() != "help" {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	eachExample(func(c *cobra.Command, line string) {
		if len(commandsOf(line)) == 0 {
			t.Errorf("%s: the example %q runs no ctxledger", c.CommandPath(), line)
		}
		check(line)
	})
	for _, topic := range root.Topics() {
		for line := range strings.Lines(topic.Text) {
			if strings.HasPrefix(line, "   ctxledger ") {
				check(strings.TrimSpace(line))
			}
		}
	}
	for _, text := range []string{clitest.ReadRepository(t, "BENCHMARKS.md"), clitest.ReadRepository(t, "deploy", "RUNBOOK.md")} {
		for _, block := range strings.Split(text, "`") {
			if strings.HasPrefix(block, "ctxledger ") {
				check(strings.TrimSpace(block))
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}
