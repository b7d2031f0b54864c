// Package lease decides which process may write the rows of a stream.
//
// One entry per stream stands in the bucket [Bucket]. Its holder renews the entry every
// heartbeat. Every change is a compare-and-set, so two holders cannot both change it.
//
//	<stream>.projection   lease and journal, an [Entry] as JSON
//	<stream>.request      the name of who asks the holder for the lease
//	<stream>              the fence, which projectors of older versions cannot read
//	projectors.<owner>    one process that shares the streams with others, see [Roster]
//
// The entry is the journal, too: it names the range that its holder writes. Whoever takes
// the lease next finds that range there.
package lease
