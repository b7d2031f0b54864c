package embedded

// pin names one package of the npm registry and everything that is checked
// about it. Tests replace it with a small one.
type pin struct {
	name, version string
	sha512        string // of the tarball, base64 as npm writes it
	member        string // the library's path in the tarball
	packed        int64  // bytes of the tarball
	unpacked      int64  // bytes of the library
}

// engineVersion is the ClickHouse that this package is written for and tested with.
const engineVersion = "26.7.3-stable.1"

// pins holds one entry per platform whose checksum could be taken (see the
// package comment). The key is GOOS-GOARCH.
var pins = map[string]pin{
	"linux-amd64": {
		name:     "@chdb/lib-linux-x64-gnu",
		version:  engineVersion,
		sha512:   "XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
		member:   "package/libchdb.so",
		packed:   177_817_999,
		unpacked: 566_330_096,
	},
}
