package bundle

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// lastLines is the number of lines of a log in the bundle, and lastBytes the end of the file in
// which they are searched.
const (
	lastLines = 500
	lastBytes = 4 << 20
)

// lineOfLog is a line of ClickHouse's log. The text at its end can hold a query with its values, so
// only the code of an error is taken from it.
var lineOfLog = regexp.MustCompile(`^(\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+) \[ \d+ \] \{[^}]*\} <(Fatal|Critical|Error|Warning)> ([\w:.]+)`)

var errorCode = regexp.MustCompile(`\bCode: (\d{1,4})\b`)

// ClickHouseLog reads the last warnings of a log: time, level, part of the server, and the error
// code. A log that does not exist has none.
func ClickHouseLog(path string) func(context.Context) (any, error) {
	return func(context.Context) (any, error) {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.Size() > lastBytes {
			if _, err := file.Seek(-lastBytes, io.SeekEnd); err != nil {
				return nil, err
			}
		}
		var lines []string
		reader := bufio.NewScanner(file)
		reader.Buffer(nil, lastBytes)
		for reader.Scan() {
			if line := reduced(reader.Text()); line != "" {
				lines = append(lines, line)
			}
		}
		lines = lines[max(0, len(lines)-lastLines):]
		return strings.Join(lines, ""), reader.Err()
	}
}

// reduced returns the parts of a line that hold no text of a query, or "" for other lines.
func reduced(line string) string {
	m := lineOfLog.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	kept := m[1] + " " + m[2] + " " + strings.TrimRight(m[3], ":")
	if code := errorCode.FindStringSubmatch(line); code != nil {
		kept += " code " + code[1]
	}
	return kept + "\n"
}
