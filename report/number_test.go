package report

import "testing"

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Group(0), "0"},
		{Group(999), "999"},
		{Group(1000), "1,000"},
		{Group(1234567), "1,234,567"},
		{Bytes(-1), "-1 B"},
		{Bytes(10239), "10239 B"},
		{Bytes(10240), "10.0 KiB"},
		{Bytes(-3 << 20), "-3.0 MiB"},
		{Bytes(1 << 31), "2.0 GiB"},
		{Seconds(0.0004).String(), "0.000"},
		{Seconds(123.456).String(), "123.5"},
		{Seconds(86400.4).String(), "86,400"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
