package model

// Recogniser recognises the logs of one format by the members of their first records.
type Recogniser struct {
	Format Format
	// Tells reports whether the name of one member decides the format. seen holds the members so
	// far.
	Tells func(name string, seen Members) bool
	// Recognises decides by all members of an object.
	Recognises func(seen Members) bool
}

// Members are the members of an object by name. The value is a short string, or "" for any other
// value.
type Members map[string]string

// Has reports whether the object has all of these members.
func (m Members) Has(names ...string) bool {
	for _, name := range names {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	return true
}
