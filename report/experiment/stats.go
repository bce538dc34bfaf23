package experiment

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Figure is a metric over the trials of a group.
type Figure struct {
	N    int     `json:"n"`    // trials that have it
	Mean float64 `json:"mean"` // of those
	// Half is half of the 95 % confidence interval of the mean, by Student's t; 0 if
	// there was one trial.
	Half float64 `json:"half"`
}

// Summarize is the figure of some values, at least one.
func Summarize(values []float64) Figure {
	mean, sd := stat.MeanStdDev(values, nil)
	f := Figure{N: len(values), Mean: mean}
	if len(values) > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(len(values) - 1)}
		f.Half = t.Quantile(0.975) * sd / math.Sqrt(float64(len(values)))
	}
	return f
}
