package projector

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
)

// refusing runs a projector that counts the refusals of the server. Its connection belongs to
// another user if one is given.
func (r *rig) refusing(user string) (refused func(code string) float64, stop func() error) {
	r.t.Helper()
	p, read := r.measured()
	if user != "" {
		u, err := url.Parse(r.servers.ClickHouseDSN())
		r.must(err)
		u.User = url.UserPassword(user, user)
		l, err := ledger.Open(r.t.Context(), u.String())
		r.must(err)
		r.t.Cleanup(func() { l.Close() })
		p.config.Ledger, p.store = l, tablesOf(l)
	}
	refused = func(code string) float64 { n, _ := read("retries_total", "clickhouse", code); return n }
	return refused, r.follow(p)
}

func tooManyParts(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 50)
	refused, stop := r.refusing("")
	r.catchUp()
	r.exec("SYSTEM STOP MERGES events", "ALTER TABLE events MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1")
	r.publishMix(1000, 50)
	r.await("the server has refused", func() bool { return refused("252") > 3 })
	r.exec("ALTER TABLE events RESET SETTING parts_to_delay_insert, parts_to_throw_insert")
	r.catchUp()
	r.must(stop())
	r.faultless()
}

// The server refuses requests of a separate user for several reasons, without a fault in an
// event.
func refusedByTheServer(t *testing.T) {
	r := newClickHouseRig(t, migratedFolder(t))
	user := func(password, profile, quota string) string {
		sum := sha256.Sum256([]byte(password))
		return fmt.Sprintf(`<clickhouse>
<profiles><fault><async_insert>0</async_insert>%s</fault></profiles>
<quotas><fault>%s</fault></quotas>
<users><fault><password_sha256_hex>%s</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>fault</profile><quota>fault</quota><grants>
<query>GRANT ALL ON ctxledger*.*</query><query>GRANT SELECT, SHOW ON system.*</query><query>GRANT KILL QUERY ON *.*</query>
<query>GRANT CREATE TEMPORARY TABLE ON *.*</query><query>GRANT TABLE ENGINE ON *</query>
</grants></fault></users></clickhouse>`, profile, quota, hex.EncodeToString(sum[:]))
	}
	well := user("fault", "", "")
	r.clickhouse.users(well)
	r.awaitReachable()
	refused, stop := r.refusing("fault")
	for i, c := range []struct{ name, code, users string }{
		{"memory limit", "241", user("fault", "<max_memory_usage>100000</max_memory_usage>", "")},
		{"wrong password", "516", user("another", "", "")},
		{"quota", "201", user("fault", "", "<interval><duration>3600</duration><queries>10</queries></interval>")},
	} {
		r.publishMix(1000*i, 50)
		r.catchUp()
		r.clickhouse.users(c.users)
		r.publishMix(1000*i+500, 50)
		r.await("the server has refused for the "+c.name, func() bool { return refused(c.code) > 3 })
		r.clickhouse.users(well)
		r.awaitReachable()
		r.catchUp()
		t.Logf("%s: refused %v times with %s", c.name, refused(c.code), c.code)
	}
	r.must(stop())
	r.faultless()
}

// fillFiles takes all files of the disk of a folder. The returned function frees them.
func fillFiles(t testing.TB, dir string) (free func()) {
	t.Helper()
	folder := filepath.Join(dir, "files")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		file, err := os.Create(filepath.Join(folder, strconv.Itoa(n)))
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	return func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

func clickhouseDiskFull(t *testing.T) {
	needsServers(t)
	dir := embeddedtest.DiskOfFewFiles(t, 300<<10, 60_000)
	r := newClickHouseRig(t, dir)
	p, read := r.measured()
	stop := r.follow(p)
	r.publishMix(0, 50)
	r.catchUp()
	refused := func(code string) float64 { n, _ := read("retries_total", "clickhouse", code); return n }
	type end struct {
		fill func(testing.TB, string) (free func())
		code string
	}
	ends := []end{{embeddedtest.FillDisk, "243"}, {fillFiles, "1001"}}
	noRoom := ruleOf(t, "CtxledgerTablesDiskFull", registryOf(p))
	for round := range times(2, 6) {
		if round > 0 {
			ends = ends[:1]
		}
		for i, end := range ends {
			before := refused(end.code)
			if noRoom.window = noRoom.counters(); noRoom.fires() {
				t.Error("the alert fires before the fault")
			}
			free := end.fill(t, dir)
			r.publishMix(1000*(1+2*round+i), 100)
			r.await("the server has refused", func() bool { return refused(end.code) > before+3 })
			r.await("the alert fires", noRoom.fires)
			if h := p.Health(); !strings.HasSuffix(h.Waiting, ": clickhouse "+end.code+" (no room left)") {
				t.Errorf("with a full disk the health is %+v", h)
			}
			free()
			r.awaitReachable()
			r.catchUp()
		}
	}
	r.must(stop())
	t.Logf("refused %v and %v times, %d restarts", refused("243"), refused("1001"), r.clickhouse.servers.Restarts())
	r.faultless()
}

// The disk of NATS is full. NATS need not have messages without an acknowledgement. The
// operator frees room and starts NATS again.
func natsDiskFull(t *testing.T) {
	dir := embeddedtest.SmallDisk(t, 64<<10)
	r := newNATSRig(t, dir)
	_, stop := r.followed()
	r.publishMix(0, 50)
	r.catchUp()
	for round := range times(2, 6) {
		load := r.publishing(10_000 * (1 + round))
		stored := func() uint64 { return load.stored.Load() }
		before := stored()
		r.await("something is published", func() bool { return stored() > before+10 })
		free := embeddedtest.FillDisk(t, dir)
		r.await("nothing is published any more", func() bool { return load.failing.Load() > 3 })
		free()
		r.nats.kill()
		r.nats.start()
		before = stored()
		r.await("something is published again", func() bool { return stored() > before+10 })
		load.stop()
		r.catchUp()
		t.Logf("%d acknowledged, %d tried again", len(r.acknowledged), load.retries)
	}
	err := stop()
	if err != nil && !strings.Contains(err.Error(), lease.ErrLost.Error()) {
		t.Error(err)
	}
	r.project()
	r.faultless()
}
