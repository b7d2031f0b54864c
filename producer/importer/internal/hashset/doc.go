// Package hashset holds compact sets of hashes and ids, and lists that grow in chunks. An import
// uses these types to remember the records of a large log.
package hashset
