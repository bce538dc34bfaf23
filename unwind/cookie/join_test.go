package cookie

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ExampleJoin() {
	j := &Join[string]{Deliver: func(event string, stack []uint64, found bool) {
		fmt.Printf("%s %x %v\n", event, stack, found)
	}}
	j.Add(1, New(0, 3), "read")
	j.Add(1, New(0, 3), "write")
	j.Add(2, New(1, 3), "other task")
	// Lost here: task 1's return with cookie 3 and its next entry.
	j.Add(1, New(0, 5), "close")
	j.Stack(1, New(0, 5), []uint64{0x401000, 0x402000})
	j.Flush()
	// Output:
	// read [] false
	// write [] false
	// close [401000 402000] true
	// other task [] false
}

// TestJoinModel checks that an event gets the stack of its own stay or none,
// also when records are lost at random.
func TestJoinModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type ev struct {
			task   int32
			cookie ID
			seq    int
		}
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		stored := map[ev]bool{} // whose stack reached the reader while it waited
		last := map[int32]int{}
		delivered := 0
		j := &Join[ev]{Limit: limit}
		j.Deliver = func(e ev, stack []uint64, found bool) {
			delivered++
			if e.seq <= last[e.task] {
				t.Fatalf("task %d: event %d after %d", e.task, e.seq, last[e.task])
			}
			last[e.task] = e.seq
			if found != stored[e] || found && ID(stack[0]) != e.cookie {
				t.Fatalf("event %+v: found %v, stack %x", e, found, stack)
			}
		}
		var waiting []ev
		count, added := map[int32]uint32{1: 3, 2: 3, 3: 3}, 0
		t.Repeat(map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				task := int32(rapid.IntRange(1, 3).Draw(t, "task"))
				added++
				e := ev{task, New(int(task), count[task]), added}
				waiting = append(waiting, e)
				j.Add(task, e.cookie, e)
			},
			"return": func(t *rapid.T) {
				task := int32(rapid.IntRange(1, 3).Draw(t, "task"))
				c := New(int(task), count[task])
				count[task] += 2
				if rapid.Bool().Draw(t, "lost") {
					return
				}
				for _, e := range waiting {
					if e.cookie == c {
						stored[e] = true
					}
				}
				// Those the limit has pushed out were delivered before.
				j.Stack(task, c, []uint64{uint64(c)})
			},
			"": func(t *rapid.T) {
				if j.Waiting() > limit || added != delivered+j.Waiting() {
					t.Fatalf("%d added, %d delivered, %d wait", added, delivered, j.Waiting())
				}
			},
		})
		j.Flush()
		if delivered != added {
			t.Fatalf("%d of %d delivered", delivered, added)
		}
	})
}

// TestJoinWithoutCookie delivers an event that waits for nothing at once, unless
// others of its task wait before it.
func TestJoinWithoutCookie(t *testing.T) {
	var got []int
	j := &Join[int]{Limit: 2, Deliver: func(e int, _ []uint64, _ bool) { got = append(got, e) }}
	j.Add(1, 0, 1)
	j.Add(1, New(0, 3), 2)
	j.Add(1, 0, 3)         // behind 2
	j.Add(2, New(0, 5), 4) // pushes 2 out
	j.Add(2, New(0, 5), 5) // pushes 3 out: now task 1 has none
	j.Add(1, 0, 6)
	if want := []int{1, 2, 3, 6}; !slices.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
}
