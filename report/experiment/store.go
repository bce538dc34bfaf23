package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// storeVersion changes when an older outcome must not be used again.
const storeVersion = 3

// Store keeps the outcomes of finished trials in a folder, one file for each, so that an
// interrupted experiment goes on where it was. The zero value keeps nothing.
type Store struct{ dir string }

// OpenStore makes the folder if it is not there.
func OpenStore(dir string) (Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Store{}, err
	}
	return Store{dir}, nil
}

func (s Store) path(t *Trial) string { return filepath.Join(s.dir, t.key()+".json") }

// load returns the outcome of a trial that was finished before. A file that is damaged
// counts as none: the trial runs again.
func (s Store) load(t *Trial) (Outcome, bool, error) {
	if s.dir == "" {
		return Outcome{}, false, nil
	}
	text, err := os.ReadFile(s.path(t))
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, false, nil
	}
	if err != nil {
		return Outcome{}, false, err
	}
	var o Outcome
	if json.Unmarshal(text, &o) != nil || !reflect.DeepEqual(o.Trial, *t) || len(o.Figures) != len(t.Designs) {
		return Outcome{}, false, nil
	}
	return o, true, nil
}

// save writes the file whole or not at all: on a full disk what was there stays.
func (s Store) save(o *Outcome) (err error) {
	if s.dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return fmt.Errorf("outcome of %v: %w", &o.Trial, err)
	}
	f, err := os.CreateTemp(s.dir, ".trial-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path(&o.Trial))
}
