package streamio

import "strings"

// A copy of a message in another stream must not have the headers that a server would obey, its
// orders: message ids, expected sequences, batches, rollups and lifetimes. The copy holds them
// elsewhere.

// IsOrder reports whether a server would obey a header.
func IsOrder(name string) bool { return len(name) >= 5 && strings.EqualFold(name[:5], "Nats-") }

// SplitOrders returns the headers of a copy, and the orders among the headers of the message.
func SplitOrders(of map[string][]string) (header, orders map[string][]string) {
	header, orders = make(map[string][]string, len(of)), make(map[string][]string)
	for name, values := range of {
		if IsOrder(name) {
			orders[name] = values
		} else {
			header[name] = values
		}
	}
	return header, orders
}

// JoinOrders returns the headers of a message from those of its copy. The header with this name
// belongs to the copy, and so does every order that the copy has as a header.
func JoinOrders(copied map[string][]string, name string, orders map[string][]string) map[string][]string {
	header, _ := SplitOrders(copied)
	delete(header, name)
	for name, values := range orders {
		header[name] = values
	}
	return header
}
