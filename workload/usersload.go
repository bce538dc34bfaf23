//go:build !js

package workload

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/gob"
	"fmt"
	"sync"
)

//go:generate go run ../internal/learn -users users.bin.gz

//go:embed users.bin.gz
var usersImage []byte

// loadUsers returns the embedded processes, which are unpacked the first time.
var loadUsers = sync.OnceValues(func() (*Users, error) {
	z, err := gzip.NewReader(bytes.NewReader(usersImage))
	if err != nil {
		return nil, fmt.Errorf("workload users: %w", err)
	}
	u := new(Users)
	if err := gob.NewDecoder(z).Decode(u); err != nil {
		return nil, fmt.Errorf("workload users: %w", err)
	}
	return u, nil
})
