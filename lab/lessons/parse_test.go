package lessons

import (
	"strings"
	"testing"
)

const head = "---\nnumber: 1\ntitle: T\nminutes: 1\ngoal: G\nnext: N\n---\n"

const exercise = "```exercise\nkind: place\nask: A\nhint: H\nright: R\nsolution: event?step=1\n" +
	"checks:\n  - {view: place, match: 'step=1', say: S}\nmistakes:\n  - {try: 'event?step=2', say: S}\n```\n"

func question(lines string) string {
	return head + "```question\nid: q\nask: A\nsource: S\n" + lines + "\n```\n" + exercise
}

// What a teacher may get wrong is named, with its line.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "1: a lesson begins with a line ---",
		"---\nnumber: 1\n":               "no second line ---",
		"---\nnumber: one\n---\n":        "1: ",
		"---\nnumbr: 1\n---\n":           "no key numbr",
		"---\nnumber: 1\n---\n":          "must be given",
		head:                             "there are 0 exercises",
		head + exercise + exercise:       "there are 2 exercises",
		head + "```runs\n```\n":          `8: a block "runs"`,
		head + "a\n\n```run\n```\n":      "10: run: there is no command",
		head + "```run\necho":            "8: the block does not end",
		head + "```show\nview: a\n```\n": "there is no place",
		head + "```show\nplace: nested?step=1\n```\n":                                                    "a place needs a view",
		head + "```show\nplace: nothing\nview: step\n```\n":                                              "no scenario",
		question("kind: guess"):                                                                          `kind "guess"`,
		question("kind: number\nanswer: 1\nright: R"):                                                    "needs answer, right and otherwise",
		question("kind: number\nanswer: x\nright: R\notherwise: O"):                                      `"x" is not a number`,
		question("kind: number\nanswer: 1\nright: R\notherwise: O\nwrong: {0x1: W}"):                     "both right and wrong",
		question("kind: number\nanswer: 1\nright: R\notherwise: O\nwrong: {'0x2': W, '2': W}"):           "is there twice",
		question("kind: word\nanswer: 1\nright: R\notherwise: O\nchoices: [{text: T, say: S}]"):          "has no choices",
		question("kind: choice\nchoices: [{text: T, say: S}, {text: T, say: S}]"):                        "0 of 2 choices are right",
		question("kind: choice\nchoices: [{text: T}]"):                                                   "needs text and say",
		question("kind: number\nanswer: 1\nright: R\notherwise: O\nshown: [{match: '('}]"):               "missing closing",
		strings.Replace(question("kind: word\nanswer: 1\nright: R\notherwise: O"), "source: S\n", "", 1): "neither shown nor source",
		strings.Replace(head+exercise, "hint: H\n", "", 1):                                               "must be given",
		strings.Replace(head+exercise, "{view: place", "{run: ls", 1):                                    "needs a view",
		strings.Replace(head+exercise, "match: 'step=1', ", "", 1):                                       "match or absent",
	} {
		_, err := Parse("x.md", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n: %v; want %q", text, err, want)
		}
	}
	if _, err := Parse("x.md", []byte(question("kind: word\nanswer: 1\nright: R\notherwise: O"))); err != nil {
		t.Error(err)
	}
	if _, err := Parse("x.md", make([]byte, maxText+1)); err == nil {
		t.Error("a lesson of any size is read")
	}
}

// A claim that the engine does not bear out is an error of Verify: an answer that does
// not stand there, a solution that is refused, a mistake that is not.
func TestVerifyRefuses(t *testing.T) {
	shown := "kind: number\nright: R\notherwise: O\nshown: [{place: 'event?step=22', view: bits, match: '0x018 \\d+ 00011 (\\d+) '}]\nanswer: "
	for text, want := range map[string]string{
		question(shown + "10"): "",
		question(shown + "11"): "the lesson says 11, and the engine 10",
		strings.Replace(question(shown+"10"), "0x018", "0x999", 1):                                   "does not match",
		strings.Replace(question(shown+"10"), "solution: event?step=1", "solution: event?step=2", 1): "the solution is refused: S",
		strings.Replace(question(shown+"10"), "{try: 'event?step=2'", "{try: 'event?step=1'", 1):     "the mistake",
	} {
		l, err := Parse("x.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = l.Verify(t.Context(), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// Each lesson has what a learner needs, and the index is true.
func TestAll(t *testing.T) {
	for i, l := range All() {
		if l.Number != i+1 {
			t.Errorf("lesson %d is number %d", l.Number, i+1)
		}
		if l.Minutes < 10 || l.Minutes > 20 {
			t.Errorf("lesson %d takes %d minutes", l.Number, l.Minutes)
		}
		if len(l.questions()) < 3 {
			t.Errorf("lesson %d has only %d questions", l.Number, len(l.questions()))
		}
	}
	if _, err := Find(11); err == nil {
		t.Error("there is a lesson 11")
	}
	index, err := Index()
	if err != nil || len(index) != 10 {
		t.Errorf("%d entries, %v", len(index), err)
	}
}

func TestWrap(t *testing.T) {
	got := wrap("## Head\n\none two\nthree\n\n* four five six\n```text\nas  it is\n```\n", 9)
	if want := "Head\n\none two\nthree\n\n* four\n  five\n  six\n    as  it is\n"; got != want {
		t.Errorf("%q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(question("kind: word\nanswer: 1\nright: R\notherwise: O")))
	f.Add([]byte(head + exercise))
	files, err := texts.ReadDir("texts")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := texts.ReadFile("texts/" + file.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(head + "```run\nls\n```\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse("x", text)
		if err != nil {
			return
		}
		for _, q := range l.questions() {
			if right, _ := q.judge(q.solutionWord()); !right {
				t.Errorf("%s: the answer %q is wrong", q.ID, q.solutionWord())
			}
		}
		l.exercise()
		wrap(string(text), 40)
	})
}

func FuzzParseAnswers(f *testing.F) {
	f.Add([]byte("a: 1\nexercise: |\n  ls\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = ParseAnswers(text) })
}
