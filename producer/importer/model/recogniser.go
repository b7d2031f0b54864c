package model

// Recogniser tells the logs of one format by the members of their first records.
type Recogniser struct {
	Format Format
	// Tells reports whether the name of one member is enough, seen being those up to it.
	Tells func(name string, seen Members) bool
	// Recognises decides by all members of an object.
	Recognises func(seen Members) bool
}

// Members are those of an object, by name: a short string value, or "" for any other.
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
