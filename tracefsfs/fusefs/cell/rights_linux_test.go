package cell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/clients.md has the table of the capabilities, with the client that needs each.
func TestRightsDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rights {
		if row := fmt.Sprintf("| %s | %s |\n", r.name, r.client); !strings.Contains(string(text), row) {
			t.Errorf("docs/clients.md lacks %s", row)
		}
	}
	if rows := strings.Count(string(text), "\n| CAP_"); rows != len(rights) {
		t.Errorf("docs/clients.md has %d capabilities, there are %d", rows, len(rights))
	}
}
