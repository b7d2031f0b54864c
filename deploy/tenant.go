package deploy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrTenant means that the servers cannot have users for a tenant. Permanent; the error names the
// tenant and the reason.
var ErrTenant = errors.New("bad tenant")

// A tenant is a valid token of a subject and of a user's name. Variable is its form in the name
// of an environment variable.
type tenant struct{ Name, Variable string }

var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func parseTenants(names []string) ([]tenant, error) {
	list := make([]tenant, len(names))
	taken := make(map[string]string)
	for i, name := range names {
		if !tenantPattern.MatchString(name) {
			return nil, fmt.Errorf("%w %q: use up to 64 letters, digits, underscores and hyphens, and begin with a letter or a digit", ErrTenant, name)
		}
		variable := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if other, ok := taken[variable]; ok {
			return nil, fmt.Errorf("%w: %q and %q would both use the environment variable of %s; leave out or rename one of them", ErrTenant, other, name, variable)
		}
		taken[variable] = name
		list[i] = tenant{name, variable}
	}
	return list, nil
}
