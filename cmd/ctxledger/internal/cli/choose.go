package cli

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// Choices is the most sessions that a person is asked to choose from.
const Choices = 20

// Place is a session that has the requested id.
type Place struct{ Tenant, Session string }

// Choose asks a person at a terminal for one of several sessions, and returns its index. It
// offers the first [Choices] places; one more place means any larger number. Without a terminal
// it prints the choices, and the error names the flags that decide.
func (a *App) Choose(what string, places []Place, flags string) (int, error) {
	number := strconv.Itoa(len(places))
	if len(places) > Choices {
		number = fmt.Sprintf("more than %d", Choices)
	}
	choices := make([]string, len(places))
	for i, p := range places {
		choices[i] = strings.TrimSpace(p.Session + "  " + p.Tenant)
	}
	return a.pick(fmt.Sprintf("%s occurs in %s sessions", what, number), choices, "name one with "+flags)
}

// pick asks a person at a terminal for one of several choices, and returns its index.
// Without a terminal, the choices are printed and the error is the advice.
func (a *App) pick(question string, choices []string, advice string) (int, error) {
	shown := choices[:min(Choices, len(choices))]
	fmt.Fprintf(a.Err, "%s:\n", question)
	for i, choice := range shown {
		fmt.Fprintf(a.Err, "  %d  %s\n", i+1, ui.Safe(choice))
	}
	if len(choices) > Choices {
		fmt.Fprintln(a.Err, "  and older ones")
	}
	if !IsTerminal(a.In) {
		return 0, UsageError("%s", advice)
	}
	fmt.Fprint(a.Err, "which one? ")
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(shown) {
		return 0, UsageError("give a number from 1 to %d", len(shown))
	}
	return n - 1, nil
}
