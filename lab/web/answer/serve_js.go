package answer

import (
	"encoding/json"
	"fmt"
	"syscall/js"
)

// Serve lets the page's worker call these functions: ftracelab(name, arguments) gives a
// promise of the answer's JSON or bytes, or of an error with its sentence. It never returns.
//
// Each call has a goroutine of its own, so one that waits does not keep others waiting.
func Serve(calls map[string]Call) {
	js.Global().Set("ftracelab", js.FuncOf(func(_ js.Value, in []js.Value) any {
		name, args := in[0].String(), []string{}
		for i := range in[1].Length() {
			args = append(args, in[1].Index(i).String())
		}
		executor := js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() {
				value, err := answer(calls, name, args)
				if err != nil {
					settle[1].Invoke(err.Error())
					return
				}
				settle[0].Invoke(value)
			}()
			return nil
		})
		defer executor.Release() // a promise calls it at once, and never again
		return js.Global().Get("Promise").New(executor)
	}))
	js.Global().Call("ftracelabReady")
	select {}
}

// answer is the JSON of an answer, or its bytes if it is Bytes.
func answer(calls map[string]Call, name string, args []string) (any, error) {
	call, ok := calls[name]
	if !ok {
		return nil, fmt.Errorf("answer: the page asks %q, which nobody answers", name)
	}
	v, err := call(args)
	if err != nil {
		return nil, err
	}
	if b, ok := v.(Bytes); ok {
		out := js.Global().Get("Uint8Array").New(len(b))
		js.CopyBytesToJS(out, b)
		return out, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// Say tells the page something of the program's own accord.
func Say(kind, text string) { js.Global().Call("ftracelabSay", kind, text) }
