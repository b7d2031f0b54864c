package identity

import "testing"

// TestIdentityFilter expects every added identity, few other identities, and a count that shows
// a full filter in time.
func TestIdentityFilter(t *testing.T) {
	t.Parallel()
	const capacity, asked = 100_000, 1_000_000
	ids := New(capacity)
	needless := func() (hits int) {
		for i := range uint64(asked) {
			if ids.Maybe(mix(i) | 1) {
				hits++
			}
		}
		return hits
	}
	for i := range uint64(capacity) {
		if ids.Full() {
			t.Fatalf("full after %d", i)
		}
		ids.Add(mix(i) &^ 1)
		ids.Add(mix(i) &^ 1) // a repeat does not count
		if i == 2*capacity/3 {
			if hits := needless(); hits > asked/8000 {
				t.Errorf("%d of %d identities seem known, at two thirds", hits, asked)
			}
		}
	}
	for i := range uint64(capacity) {
		if !ids.Maybe(mix(i) &^ 1) {
			t.Fatalf("identity %d is not found", i)
		}
	}
	if hits := needless(); hits > asked/800 {
		t.Errorf("%d of %d identities seem known, when full", hits, asked)
	}
	if ids.count < capacity*99/100 || ids.count > capacity {
		t.Errorf("counted %d of %d", ids.count, capacity)
	}
}
