package lab

// A Scenario is a short story that is told in steps.
type Scenario struct {
	Name     string
	Question string // what one should be able to answer after it
	play     func(*player)
}

// Scenarios are all scenarios, in an order in which nothing needs what comes later. The
// last one is there only in a program that has called [UseConsole].
func Scenarios() []Scenario {
	all := []Scenario{
		{"event", "What are the bytes of an event?", func(p *player) { p.ring(eventStory) }},
		{"reserve-commit", "When can a reader see an event that is being written?", func(p *player) { p.ring(commitStory) }},
		{"crossing", "What happens when an event does not fit on its page?", func(p *player) { p.ring(crossingStory) }},
		{"overwrite", "What is lost when the ring is full, and what is a reader safe from?", func(p *player) { p.ring(overwriteStory) }},
		{"swap", "Why does a reader exchange its page with one of the ring?", func(p *player) { p.ring(swapStory) }},
		{"nested", "How can an interrupt write while another event is half written?", func(p *player) { p.ring(nestedStory) }},
		{"beside", "Who gets the oldest page if a reader and the writer want it at the same time?", func(p *player) { p.ring(besideStory) }},
		{"full", "What happens with overwriting off when there is no room?", func(p *player) { p.ring(fullStory) }},
		{"storm", "Ten thousand events, to walk far and back again.", func(p *player) { p.ring(stormStory) }},
		{"probe", "How does a stack become an id, and when is it dropped?", (*player).stackmap},
		{"pool", "What stays behind when the map has no room for another stack?", (*player).poolOfStacks},
		{"race", "What if two CPUs bring the same new stack at the same time?", (*player).race},
		{"shadow", "How is a function's return seen?", (*player).shadow},
		{"cookies", "How does an event get a user stack that is walked only later?", (*player).cookies},
		{"hist", "Where does a histogram keep its keys, and when does it drop one?", (*player).hist},
	}
	if console.Load() != nil {
		all = append(all, Scenario{"tracefs", "What do trace, trace_pipe, a snapshot, an instance and a trigger do?", (*player).tracefs})
	}
	return all
}

// Names are the names of the scenarios.
func Names() []string {
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func find(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}
