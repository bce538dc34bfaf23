package html

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

//go:generate go run ftracelab/internal/facts charts assets

// echartsGz is Apache ECharts 6.1.0, see assets/echarts.LICENSE and echarts.NOTICE.
//
//go:embed assets/echarts.min.js.gz
var echartsGz []byte

// styleCSS is the style sheet of a page.
//
//go:embed assets/style.css
var styleCSS string

// chartsJS puts the options of a page's charts into their places.
//
//go:embed assets/charts.js
var chartsJS string

// pageTmpl is the page.
//
//go:embed assets/page.tmpl
var pageTmpl string

// echarts unpacks the charts' script.
func echarts() (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(echartsGz))
	if err != nil {
		return "", fmt.Errorf("html: embedded charts script: %w", err)
	}
	js, err := io.ReadAll(z)
	if err != nil {
		return "", fmt.Errorf("html: embedded charts script: %w", err)
	}
	return string(js), nil
}
