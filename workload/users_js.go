package workload

// userScenarios are the scenarios whose processes have captured user stacks. The program of
// a web page has none, because it must stay small: a browser loads it whole.
func userScenarios() []Scenario { return nil }
