// Package river draws the windows of a session, call by call. A drawing is a pure function: the
// rows of named queries go in, and numbers in the units of the drawing come out.
//
//	Of       the answers of the queries → a [River]: threads, calls, bands, cuts
//	Chart    one thread → columns with one band for each layer, marks and labels
//	Bill     one thread → columns with one band for each bucket of the prompt cache
//	Strip    one window → blocks in the order of the model
//
// A column is as high as the bill. The layers are estimates. If they are smaller than the bill,
// the rest is a band of its own, Unexplained: the log does not hold it. If they are larger, they
// are scaled down to the bill, and the estimate is a line above the column. A call without a bill
// is as high as its estimate.
//
// The package asks no server and knows no HTML.
package river
