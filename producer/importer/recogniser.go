package importer

// recogniser tells the logs of one format by the members of their first records.
type recogniser struct {
	format Format
	// tells reports whether the name of one member is enough, seen being those up to it.
	tells func(name string, seen members) bool
	// recognises decides by all members of an object.
	recognises func(seen members) bool
}

// members are those of an object, by name: a short string value, or "" for any other.
type members map[string]string

// has reports whether the object has all of these members.
func (m members) has(names ...string) bool {
	for _, name := range names {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	return true
}
