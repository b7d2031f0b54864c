package deploy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrTenant means that a tenant cannot have users of its own on the servers.
// Permanent; the error says which one and why.
var ErrTenant = errors.New("no name for a tenant's users")

// A tenant is a name that stands as it is in a subject, in the name of a user
// and, as Variable, in that of an environment variable.
type tenant struct{ Name, Variable string }

var tenantPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func parseTenants(names []string) ([]tenant, error) {
	list := make([]tenant, len(names))
	taken := make(map[string]string)
	for i, name := range names {
		if !tenantPattern.MatchString(name) {
			return nil, fmt.Errorf("%w: %q: use up to 64 letters, digits, underscores and hyphens, none of the last two in front", ErrTenant, name)
		}
		variable := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if other, ok := taken[variable]; ok {
			return nil, fmt.Errorf("%w: %q and %q would share the environment variables of %s", ErrTenant, other, name, variable)
		}
		taken[variable] = name
		list[i] = tenant{name, variable}
	}
	return list, nil
}
