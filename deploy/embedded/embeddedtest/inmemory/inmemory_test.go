package inmemory

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// temporaryFolder is the variable with which TestMain prints the folder of temporary files and ends.
const temporaryFolder = "CTXLEDGER_TEST_PRINTS_TEMPORARY_FOLDER"

func TestMain(m *testing.M) {
	Tests()
	if os.Getenv(temporaryFolder) != "" {
		os.Stdout.WriteString(os.TempDir())
		os.Exit(0)
	}
	m.Run()
}

// TestOnlyTestsAreInMemory: a benchmark, a process that a test starts, and a test whose TMPDIR is set
// keep their temporary folder.
func TestOnlyTestsAreInMemory(t *testing.T) {
	t.Parallel()
	folderOf := func(tmpdir string, arguments ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], arguments...)
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "TMPDIR=") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(cmd.Env, temporaryFolder+"=1")
		if tmpdir != "" {
			cmd.Env = append(cmd.Env, "TMPDIR="+tmpdir)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	disk := folderOf("")
	inMemory := folder()
	if inMemory == "" {
		inMemory = disk
	}
	for _, c := range []struct {
		tmpdir, want string
		arguments    []string
	}{
		{"", inMemory, []string{"-test.v"}},
		{"", inMemory, []string{"-test.paniconexit0", "-test.run", "X"}},
		{"", disk, []string{"-test.v", "-test.bench=."}},
		{"", disk, []string{"-test.bench", "."}},
		{"", disk, []string{"up", "--data", "x"}},
		{"/var/elsewhere", "/var/elsewhere", []string{"-test.v"}},
	} {
		if got := folderOf(c.tmpdir, c.arguments...); got != c.want {
			t.Errorf("%v with TMPDIR=%q has its temporary files in %s, want %s", c.arguments, c.tmpdir, got, c.want)
		}
	}
	if disk == folder() {
		t.Errorf("a process without flags of a test has its temporary files in %s", disk)
	}
}
