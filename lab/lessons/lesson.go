package lessons

import (
	"embed"
	"fmt"
	"sync"
)

// A Lesson teaches one thing.
type Lesson struct {
	Number  int    `yaml:"number"`
	Title   string `yaml:"title"`
	Minutes int    `yaml:"minutes"` // how long a reader takes
	Goal    string `yaml:"goal"`    // what one can do after it
	Next    string `yaml:"next"`    // what to read then
	// Boot are flags of ftracelab shell for the machine of the lesson.
	Boot []string `yaml:"boot"`

	Blocks []Block // in the order of the text
}

// A Block is a part of a lesson. One of its fields is set.
type Block struct {
	Text     string   // Markdown
	Run      []string // commands
	Show     *Sight
	Question *Question
	Exercise *Exercise
}

// A Sight is a view of a place, and perhaps what has to stand in it.
type Sight struct {
	Place string `yaml:"place"` // of package lab; "" means what the session has printed
	View  string `yaml:"view"`  // as in Moment.Picture, or steps, a list of all steps
	Match string `yaml:"match"` // a regular expression that the text has to match
}

// Kinds of questions, and of exercises.
const (
	Choices  = "choice"
	Number   = "number"
	Word     = "word"
	Places   = "place"
	Commands = "commands"
)

// A Question asks what the reader expects.
type Question struct {
	ID      string   `yaml:"id"`
	Kind    string   `yaml:"kind"` // choice, number or word
	Ask     string   `yaml:"ask"`
	Choices []Choice `yaml:"choices"`
	Answer  string   `yaml:"answer"` // of a number or a word; words may be given in several ways, separated by |
	Right   string   `yaml:"right"`  // what is said to the right answer
	// Wrong is what is said to typical wrong answers, and Otherwise to any other.
	Wrong     map[string]string `yaml:"wrong"`
	Otherwise string            `yaml:"otherwise"`
	// Shown is where the answer can be seen, and Source where it is from if the engine
	// cannot show it. A group in an expression of Shown is the answer itself.
	Shown  []Sight `yaml:"shown"`
	Source string  `yaml:"source"`
}

// A Choice is one of the answers that are offered; the first one is called a.
type Choice struct {
	Text  string `yaml:"text"`
	Right bool   `yaml:"right"`
	Say   string `yaml:"say"` // why it is right or wrong
}

// An Exercise asks for a state, usually one that breaks something.
type Exercise struct {
	Kind string `yaml:"kind"` // place or commands
	Ask  string `yaml:"ask"`
	Hint string `yaml:"hint"`
	// Setup are commands that run on the fresh machine of the exercise.
	Setup    []string  `yaml:"setup"`
	Checks   []Check   `yaml:"checks"`
	Right    string    `yaml:"right"`
	Solution string    `yaml:"solution"`
	Mistakes []Mistake `yaml:"mistakes"`
}

// A Check looks at the state that was reached.
type Check struct {
	View   string `yaml:"view"`   // of the place; place is its text, and steps the list of its steps
	Run    string `yaml:"run"`    // a command whose output is looked at
	Match  string `yaml:"match"`  // has to be there
	Absent string `yaml:"absent"` // must not be there
	Say    string `yaml:"say"`    // what is said if this check fails
}

// A Mistake is an attempt that an exercise has to refuse, with words that its answer
// has to hold.
type Mistake struct {
	Try string `yaml:"try"`
	Say string `yaml:"say"`
}

//go:embed texts
var texts embed.FS

// All are the lessons, in their order. Callers must not change them.
var All = sync.OnceValue(func() []*Lesson {
	files, err := texts.ReadDir("texts")
	if err != nil {
		panic("lessons: invariant: " + err.Error())
	}
	var all []*Lesson
	for _, f := range files {
		if f.Name() == indexName {
			continue
		}
		text, err := texts.ReadFile("texts/" + f.Name())
		if err != nil {
			panic("lessons: invariant: " + err.Error())
		}
		l, err := Parse(f.Name(), text)
		if err != nil {
			panic("lessons: invariant: " + err.Error())
		}
		all = append(all, l)
	}
	return all
})

// Find is the lesson with that number.
func Find(number int) (*Lesson, error) {
	for _, l := range All() {
		if l.Number == number {
			return l, nil
		}
	}
	return nil, fmt.Errorf("lessons: no lesson %d; there are 1 to %d", number, len(All()))
}

// questions are those of the lesson, in their order.
func (l *Lesson) questions() (all []*Question) {
	for _, b := range l.Blocks {
		if b.Question != nil {
			all = append(all, b.Question)
		}
	}
	return all
}

// exercise is that of the lesson; Parse has seen that there is one.
func (l *Lesson) exercise() *Exercise {
	for _, b := range l.Blocks {
		if b.Exercise != nil {
			return b.Exercise
		}
	}
	panic("lessons: invariant: a lesson without an exercise")
}

// commands are those of the whole session.
func (l *Lesson) commands() (all []string) {
	for _, b := range l.Blocks {
		all = append(all, b.Run...)
	}
	return all
}
