package main
import ("testing";"context";"bytes";"runtime";"runtime/pprof";"os";"strings";"time")
func TestZZProf(t *testing.T) {
	runtime.MemProfileRate=1
	f,_:=os.Create("/tmp/mixprof/mem")
	start:=time.Now()
	var out bytes.Buffer
	run(context.Background(), []string{"shell","-c",":"}, strings.NewReader(""), &out, &out)
	t.Log(time.Since(start), out.String())
	runtime.GC()
	pprof.Lookup("allocs").WriteTo(f,0)
	f.Close()
}
func TestZZCPU(t *testing.T) {
	f,_:=os.Create("/tmp/mixprof/cpu")
	runtime.SetCPUProfileRate(5000)
	pprof.StartCPUProfile(f)
	var out bytes.Buffer
	run(context.Background(), []string{"shell","-c",":"}, strings.NewReader(""), &out, &out)
	pprof.StopCPUProfile()
	f.Close()
}
