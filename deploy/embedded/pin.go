package embedded

// pin names one package of the npm registry and all values that are checked. Tests replace it
// with a small package.
type pin struct {
	name, version string
	sha512        string // sha512 of the tarball, base64 as in npm
	member        string // the library's path in the tarball
	packed        int64  // size of the tarball in bytes
	unpacked      int64  // size of the library in bytes
}

// engineVersion is the ClickHouse version of this package and its tests.
const engineVersion = "26.7.3-stable.1"

// pins holds one entry per platform with a known checksum (see the package comment). The key is
// GOOS-GOARCH.
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
