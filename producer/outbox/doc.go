// Package outbox keeps recorded facts on this machine's disk until the stream has stored
// them. An Outbox is a field of producer.Config:
//
//	box, err := outbox.Open("/var/lib/agent/outbox", outbox.DefaultOptions())
//	defer box.Close()
//	config := producer.DefaultConfig(nc)
//	config.Outbox = box
//
// # The file
//
// One bbolt file, which one process opens at a time:
//
//	state    "format"   the layout's version, 1
//	         "instance" the instance of the producer that owns the file
//	         "acked"    the last acknowledged stream sequence
//	marks    NAME       the highest value that was appended under the name
//	batches  NUMBER     one batch, whole; numbers ascend and are never used again
//
// A number is 8 bytes, big endian. Each value begins with a CRC-32C of its key and the
// rest. A batch is a count of messages. Each message is a subject, a count of header
// fields, each a name and a value, and the data. Counts and lengths are unsigned varints:
//
//	┌─────────┬───────┬─────────────┬─────────┬───┬───────────┬───────────┬───┬──────────┬───
//	│ crc, 4B │ count │ len subject │ subject │ n │ len  name │ len value │ … │ len data │ …
//	└─────────┴───────┴─────────────┴─────────┴───┴───────────┴───────────┴───┴──────────┴───
//
// # Durability
//
// No batch is lost after Append has returned for it: neither by a kill -9 nor by a power
// failure. The file holds a batch as a whole or not at all, together with its marks. With
// Options.NoSync, the operating system decides when the file reaches the disk. After a power
// failure, the file may then be damaged, or older than the stream. Open a new file in this
// case; the new file has a new instance.
//
// # Size
//
// The file grows to at most about twice Options.MaxBytes and does not shrink. Free space
// within the file is used again. Marks are never removed: about 150 bytes for each session
// and thread.
package outbox
