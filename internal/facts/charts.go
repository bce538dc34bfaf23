package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

// scriptSum is the SHA-256 of dist/echarts.min.js of echarts 6.1.0.
const scriptSum = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"

// charts takes the script of the charts out of the package that npm pack fetches.
func charts(path string) (files map[string][]byte, err error) {
	const member = "package/dist/echarts.min.js"
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for archive := tar.NewReader(z); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: there is no %s in it", path, member)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if head.Name != member {
			continue
		}
		script, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(script)); sum != scriptSum {
			return nil, fmt.Errorf("%s: %s has the SHA-256 %s, want %s", path, member, sum, scriptSum)
		}
		small, err := packed(script)
		return map[string][]byte{"echarts.min.js.gz": small}, err
	}
}
