package capture

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/secrets"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	all   = upper + "abcdefghijklmnopqrstuvwxyz0123456789"
)

func letters(chance *rand.Rand, alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[chance.IntN(len(alphabet))])
	}
	return b.String()
}

// noneKept looks for the secrets in facts, files and log lines.
func noneKept(t *testing.T, planted []string, events producertest.Events, folder string, log []byte) {
	t.Helper()
	var kept bytes.Buffer
	for _, e := range events {
		m := e.Binary()
		fmt.Fprintf(&kept, "%s %v %s\n", m.Subject, m.Header, m.Data)
	}
	for _, file := range glob(t, folder, "*") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept.Write(text)
	}
	kept.Write(log)
	found := slices.DeleteFunc(planted, func(secret string) bool { return !bytes.Contains(kept.Bytes(), []byte(secret)) })
	for _, secret := range found[:min(len(found), 5)] {
		t.Errorf("%s… is kept", secret[:8])
	}
	if len(found) > 0 {
		t.Errorf("%d secrets are kept", len(found))
	}
}

// garden is a recorder that stores texts, with the secrets that a test plants.
type garden struct {
	*Recorder
	facts   *producertest.Recorder
	folder  string
	log     *bytes.Buffer
	planted []string
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	rules, err := secrets.New()
	if err != nil {
		t.Fatal(err)
	}
	g := &garden{facts: new(producertest.Recorder), folder: t.TempDir(), log: new(bytes.Buffer)}
	g.Recorder = open(t, g.facts, func(c *Config) {
		c.Folder, c.StoreText, c.Detector, c.Log = g.folder, true, rules, slog.New(slog.NewTextHandler(g.log, nil))
	})
	return g
}

func (g *garden) plant(secret string) string {
	g.planted = append(g.planted, secret)
	return secret
}

// check: 1,000 secrets were planted, and none is kept.
func (g *garden) check(t *testing.T) {
	t.Helper()
	if len(g.planted) != 1000 {
		t.Fatalf("%d secrets", len(g.planted))
	}
	noneKept(t, g.planted, g.facts.Events(), g.folder, g.log.Bytes())
}

// TestPlantedSecrets: of 1,000 secrets in headers, query strings and bodies none reaches a fact,
// a log line or a file, with texts stored; nor does a person's id.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	chance, plant := rand.New(rand.NewPCG(1, 2)), g.plant
	texts := []string{"start"}
	for call := range 100 {
		key, token, query := plant("sk-ant-"+letters(chance, all, 40)), plant(letters(chance, all, 32)), plant(letters(chance, all, 24))
		texts = append(texts, fmt.Sprintf("keys %s and %s and %s of the deploy", plant("AKIA"+letters(chance, upper+"234567", 16)), plant("ghp_"+letters(chance, all, 36)), key),
			"the proxy sent "+token+" with "+query, "stripe "+plant("sk_live_"+letters(chance, all, 24))+" and "+plant("xoxb-"+letters(chance, "123456789", 12)+"-"+letters(chance, "123456789", 12)+"-"+letters(chance, all, 24)))
		person, account := plant("user-"+letters(chance, all, 20)), plant("acct-"+letters(chance, all, 20))
		body := strings.Replace(windowOf(texts[max(0, len(texts)-6):]...), "{", fmt.Sprintf(`{"metadata":{"user_id":"%s_account_%s_session_s1"},`, person, account), 1)
		post(t, g.Recorder, body, message(fmt.Sprintf("msg_%d", call), "I used "+key), func(req *http.Request) {
			req.Header.Set("X-Api-Key", key)
			req.Header.Set("Authorization", "Bearer "+token)
			req.URL.RawQuery = "key=" + query
			req.Header.Set("Cookie", "id="+plant(letters(chance, all, 30)))
		})
	}
	g.check(t)
	if n := len(g.facts.Events().Of(schema.TypeUsageRecorded)); n != 100 {
		t.Errorf("%d of 100 calls", n)
	}
}

// TestCredentialsOfARecordingAreHeld: the credentials of an exchange are known until it is recorded,
// however many requests of others come meanwhile, and are forgotten after that.
func TestCredentialsOfARecordingAreHeld(t *testing.T) {
	t.Parallel()
	c := &credentials{held: make(map[string]int)}
	others := func() {
		for i := range 2 * maxCredentials {
			c.use([]string{fmt.Sprint("key-of-another-", i)})
		}
	}
	first, second := c.hold([]string{"key-of-both", "key-of-one"}), c.hold([]string{"key-of-both"})
	for _, step := range []struct {
		then func()
		want int
	}{{others, 2}, {first, 2}, {others, 1}, {second, 1}, {others, 0}} {
		step.then()
		if found := len(c.Detect(t.Context(), "key-of-both and key-of-one")); found != step.want {
			t.Errorf("%d credentials are known, want %d", found, step.want)
		}
	}
	if len(c.values) != maxCredentials || len(c.held) != 0 {
		t.Errorf("%d values and %d held are left", len(c.values), len(c.held))
	}
}

// TestPlantedSecretsOfWebSockets: of 1,000 secrets in the handshakes and the messages of WebSockets none
// reaches a fact, a log line or a file, also when many others passed since a handshake; nor does a
// person's id.
func TestPlantedSecretsOfWebSockets(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	chance, plant := rand.New(rand.NewPCG(3, 4)), g.plant
	const connections, messages = 10, 5
	type talk struct {
		c           *Conversation
		credentials []string
	}
	var talks []talk
	for range connections {
		key, token, query, cookie, other := plant("sk-proj-"+letters(chance, all, 40)), plant(letters(chance, all, 32)), plant(letters(chance, all, 24)), plant(letters(chance, all, 30)), plant(letters(chance, all, 28))
		req := conversationRequest()
		req.Header.Set("Session-Id", fmt.Sprint("s", len(talks)))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Api-Key", other)
		req.Header.Set("Cookie", "id="+cookie)
		req.Header.Set("Sec-Websocket-Protocol", "realtime, openai-insecure-api-key."+key)
		req.URL.RawQuery = "key=" + query
		c := g.Conversation(req)
		if c == nil || !c.Opened(http.Header{}) {
			t.Fatal("the conversation does not open")
		}
		talks = append(talks, talk{c, []string{key, token, query, other}})
	}
	for i := range 2 * maxCredentials { // the requests of other clients
		req := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
		req.Header.Set("X-Api-Key", fmt.Sprint("key-of-another-", i))
		g.Tap(req)
	}
	for i, talk := range talks {
		for n := range messages {
			id := fmt.Sprintf("resp_%d_%d", i, n)
			some := func(n int) (list string) {
				for range n {
					list += fmt.Sprintf("keys %s and %s of the deploy, stripe %s\n", plant("AKIA"+letters(chance, upper+"234567", 16)), plant("ghp_"+letters(chance, all, 36)), plant("sk_live_"+letters(chance, all, 24)))
				}
				return list
			}
			text, result := some(2)+strings.Join(talk.credentials, " or "), some(2)+"printed "+talk.credentials[n%4]
			answer := some(1) + "I used " + talk.credentials[0]
			person := func() string { return plant("person-" + letters(chance, all, 20)) }
			talk.c.Sent(frameOf(`{"type":"response.create","model":"m","user":%q,"safety_identifier":%q,"metadata":{"user_id":%q},"client_metadata":{"account":%q},
				"input":[{"type":"message","role":"user","content":%q},{"type":"function_call_output","call_id":"c","output":%q}]}`, person(), person(), person(), person(), text, result))
			if n == messages-1 { // what is no request, and what is no JSON, is logged without its text
				talk.c.Sent(frameOf(`{"type":"session.update","key":%q}`, talk.credentials[1]))
				talk.c.Received(frameOf(`{"type":"response.cre%s`, talk.credentials[2]))
			}
			talk.c.Received(frameOf(`{"type":"response.completed","response":{"id":%q,"status":"completed","model":"m","user":%q,
				"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}],"usage":{"input_tokens":5,"output_tokens":2}}}`, id, g.planted[len(g.planted)-1], answer))
		}
		talk.c.Received(slices.Concat([]byte{0xff, 0xff}, []byte(talk.credentials[0])))
		talk.c.End()
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.check(t)
	if n := len(g.facts.Events().Of(schema.TypeUsageRecorded)); n != connections*messages {
		t.Errorf("%d of %d calls", n, connections*messages)
	}
	if g.log.Len() == 0 {
		t.Error("nothing is logged")
	}
}
