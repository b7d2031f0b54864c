// Package outbox keeps what a runtime recorded on this machine's disk until the
// stream has it. It is what a producer.Config has as its Outbox:
//
//	box, err := outbox.Open("/var/lib/agent/outbox", outbox.DefaultOptions())
//	defer box.Close()
//	config := producer.DefaultConfig(nc)
//	config.Outbox = box
//
// # The file
//
// One bbolt file, which one process has open at a time:
//
//	state    "format"   the layout's version, 1
//	         "instance" the instance of the producer that owns the file
//	         "acked"    the stream sequence that was acknowledged last
//	marks    NAME       the highest value that was appended under the name
//	batches  NUMBER     one batch, whole; numbers ascend and are never used again
//
// A number is 8 bytes, big endian. Each value begins with a CRC-32C of its key
// and the rest. A batch is a count of messages, each a subject, a count of
// header fields, each a name and a value, and the data; counts and lengths are
// unsigned varints:
//
//	┌─────────┬───────┬─────────────┬─────────┬───┬───────────┬───────────┬───┬──────────┬───
//	│ crc, 4B │ count │ len subject │ subject │ n │ len  name │ len value │ … │ len data │ …
//	└─────────┴───────┴─────────────┴─────────┴───┴───────────┴───────────┴───┴──────────┴───
//
// # What a crash loses
//
// Nothing that Append returned for: neither a kill -9 nor, with Options.Sync, a
// power cut. A batch is there whole or not at all, and so are its marks. Without
// Sync the operating system decides when the file reaches the disk; after a
// power cut it may then be damaged, or behind what the stream has. Begin with a
// new file then, which is a new instance.
//
// # What it costs
//
// The file grows to about twice Options.MaxBytes at most and does not shrink;
// room within it is used again. Marks stay for ever: about 150 bytes a session
// and thread.
package outbox
