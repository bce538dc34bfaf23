package report

import (
	"encoding/json"
	"strconv"
)

// Seconds is a span of time. For a capture without times it is [Unknown], which is null
// in JSON.
type Seconds float64

// Unknown is the span of a capture that has no times.
const Unknown Seconds = -1

// Known reports whether s is not Unknown.
func (s Seconds) Known() bool { return s >= 0 }

// String prints s with three decimals, with fewer if it is large, and a dash if it is
// unknown.
func (s Seconds) String() string {
	switch {
	case !s.Known():
		return "–"
	case s >= 1000:
		return Group(uint64(s + 0.5))
	case s >= 100:
		return strconv.FormatFloat(float64(s), 'f', 1, 64)
	}
	return strconv.FormatFloat(float64(s), 'f', 3, 64)
}

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if !s.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*s = Unknown
		return nil
	}
	return json.Unmarshal(text, (*float64)(s))
}
