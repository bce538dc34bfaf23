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

// The scripts of a page: its charts, flame graphs and sliders, and what calls them.
var (
	//go:embed assets/charts.js
	chartsJS string
	//go:embed assets/flame.js
	flameJS string
	//go:embed assets/whatif.js
	whatIfJS string
	//go:embed assets/page.js
	pageJS string
)

// pageTmpl is the page.
//
//go:embed assets/page.tmpl
var pageTmpl string

// echarts unpacks the charts' script, as the page does when it is opened.
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
