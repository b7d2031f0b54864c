package view

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
)

// seen simulates how colours look: normal sight, and without one kind of cones, by the matrices
// of Machado, Oliveira and Fernandes (2009) for a severity of 1, in linear RGB.
var seen = map[string][9]float64{
	"normal":       {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// lab returns a colour in CIELAB as someone with this sight sees it.
func lab(t *testing.T, hex, sight string) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("colour %q", hex)
	}
	m := seen[sight]
	var in, rgb [3]float64
	for i := range in {
		in[i] = linear(float64(n>>(16-8*i)&255) / 255)
	}
	for i := range rgb {
		rgb[i] = min(1, max(0, m[3*i]*in[0]+m[3*i+1]*in[1]+m[3*i+2]*in[2]))
	}
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*rgb[0] + 0.3576*rgb[1] + 0.1805*rgb[2]) / 0.9505)
	y := f(0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2])
	z := f((0.0193*rgb[0] + 0.1192*rgb[1] + 0.9505*rgb[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// TestLayersStayApart: no two colours of layers look alike, in light and dark, for anyone. A
// difference of 2.3 is just noticeable.
func TestLayersStayApart(t *testing.T) {
	t.Parallel()
	const least = 8
	light, dark, ok := strings.Cut(asset("explorer.css"), "@media(prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	variable := regexp.MustCompile(`--([a-z_]+):(#[0-9a-f]{6})`)
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		colours := make(map[string]string)
		for _, m := range variable.FindAllStringSubmatch(css, -1) {
			colours[m[1]] = m[2]
		}
		for sight := range seen {
			for i, a := range river.Layers {
				for _, b := range river.Layers[:i] {
					p, q := lab(t, colours[string(a)], sight), lab(t, colours[string(b)], sight)
					if d := math.Sqrt((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2])); d < least {
						t.Errorf("%s, %s: %s", scheme, sight, fmt.Sprintf("%s and %s differ by %.1f only", a, b, d))
					}
				}
			}
		}
	}
}
