package storage

import "testing"

func TestScarce(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct{ got, want bool }{
		"a stream without a limit":        {Stream{Bytes: gib}.Scarce(), false},
		"a stream at 85 %":                {Stream{Bytes: 85, Limit: new(int64(100))}.Scarce(), false},
		"a stream above 85 %":             {Stream{Bytes: 86, Limit: new(int64(100))}.Scarce(), true},
		"a store above its limit":         {Store{Bytes: 101, Limit: new(int64(100))}.Scarce(), true},
		"a disk with room":                {Disk{Free: 60 * gib, Total: 1000 * gib, Forecast: Forecast{Growing, new(int64(3600))}}.Scarce(), false},
		"little free, not growing":        {Disk{Free: 40 * gib, Total: 1000 * gib, Forecast: Forecast{Outlook: NotGrowing}}.Scarce(), false},
		"little free, full in eight days": {Disk{Free: 40 * gib, Total: 1000 * gib, Forecast: Forecast{Growing, new(int64(8 * 86400))}}.Scarce(), false},
		"little free, full in six days":   {Disk{Free: 40 * gib, Total: 1000 * gib, Forecast: Forecast{Growing, new(int64(6 * 86400))}}.Scarce(), true},
		"nearly nothing free":             {Disk{Free: gib / 4, Total: 1000 * gib, Forecast: Forecast{Outlook: NotGrowing}}.Scarce(), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: scarce is %v", name, c.got)
		}
	}
}
