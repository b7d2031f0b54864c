// Package hashset holds compact sets of hashes and ids, and lists that grow in chunks:
// what an import remembers of a log of a million records.
package hashset
