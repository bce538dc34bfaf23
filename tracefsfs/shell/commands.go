package shell

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/internal/userland/coreutils"
	"ftracelab/internal/userland/grep"

	"mvdan.cc/sh/v3/interp"
)

// commands is the table of the lab's commands, sorted by name.
func commands() []command {
	return []command{
		{"awk", "awk [-F fs] [-v var=value] program [file…]", awkCommand},
		{"basename", "basename path [suffix]", basename},
		{"cat", "cat [-n] [file…]", program(coreutils.Cat)},
		{"chrt", "chrt [-o|-f|-r|-b|-i|-d] [-T ns] [-D ns] [-P ns] priority command…, or -p [priority] pid: tasks of the machine", chrt},
		{"chgrp", "chgrp: refused, tracefs is root's here", refuse},
		{"chmod", "chmod: refused, tracefs is root's here", refuse},
		{"chown", "chown: refused, tracefs is root's here", refuse},
		{"cp", "cp from… to", cp},
		{"cut", "cut -d c -f list | -c list [-s] [file…]", program(coreutils.Cut)},
		{"date", "date [+format], of simulated time", date},
		{"dd", "dd [if=file] [of=file] [bs=n] [count=n] [skip=n]", program(coreutils.DD)},
		{"descriptor", "", newDescriptor},
		{"diff", "diff [-q] file file", program(coreutils.Diff)},
		{"dirname", "dirname path", dirname},
		{"dmesg", "dmesg [-CcDEdkrtTuwWx] [-l levels] [-f facilities] [-n level]: the machine's kernel log", dmesg},
		{"echo", "echo [-n] [-e] [word…]: one write(2)", program(coreutils.Echo)},
		{"egrep", "grep -E", program(grep.Egrep)},
		{"env", "env: the environment", envCommand},
		{"explain", "explain what | --list [kind]: what a mark, option, file, error and so on is", explainCommand},
		{"expr", "expr expression", program(coreutils.Expr)},
		{"fgrep", "grep -F", program(grep.Fgrep)},
		{"find", "find [path…] [-name p] [-type f|d] [-maxdepth n] [-mindepth n] [-printf f]", find},
		{"gawk", "awk", awkCommand},
		{"grep", "grep [-EFiwxvcnoqlLhHsr] [-A n] [-B n] [-C n] [-m n] [-e] pattern [file…]", program(grep.Grep)},
		{"head", "head [-n n] [-c n] [file…]", program(coreutils.Head)},
		{"help", "help: this list", help},
		{"hexdump", "hexdump -C [file…]", program(coreutils.Hexdump)},
		{"history", "history: the lines typed at the prompt", historyCommand},
		{"clear", "clear: empties the screen", clearScreen},
		{"hostname", "hostname", hostnameCommand},
		{"id", "id [-u|-g|-n]", id},
		{"insmod", "insmod module [name=value…]", modprobe},
		{"jobs", "jobs: what runs in the background, and what has ended there", jobsCommand},
		{"kill", "kill $! | %n: ends a background job", kill},
		{"ls", "ls [-ladR1] [path…]", ls},
		{"less", "less [file…]: a page at a time on a terminal: Space, Enter, q", pager},
		{"lsmod", "lsmod: the modules loaded", lsmod},
		{"lookup", "", lookup},
		{worker, "matrix_mul [seconds]: computes, as ./matrix_mul too: a task that keeps a CPU busy", work},
		{"man", "explain", explainCommand},
		{"md5sum", "md5sum [file…]", program(coreutils.MD5Sum)},
		{"mkdir", "mkdir [-p] path…: an instance, or a folder in /tmp", mkdir},
		{"mktemp", "mktemp [-d] [template]: in /tmp", mktemp},
		{"modprobe", "modprobe [-r] module [name=value…]: preemptirq_delay_test, trace_printk, ftrace_direct, ftrace_direct_too", modprobe},
		{"more", "less", pager},
		{"mount", "mount [-t tracefs|debugfs source folder]: mounts it there too, or tells what is mounted", mount},
		{"mv", "mv from… to", mv},
		{"nice", "nice [-n n] command…: a task of the machine", nice},
		{"nohup", "nohup command…", nohup},
		{"nproc", "nproc", nproc},
		{"od", "od [-A n] [-t x1|c|…] [file…]", program(coreutils.Od)},
		{"pipe", "", openPipe},
		{"printf", "printf format [word…]: one write(2)", program(coreutils.Printf)},
		{"pgrep", "pgrep [-x] [-l] text: the pids of tasks of the machine", pgrep},
		{"ps", "ps [-e|aux|-ef] [-o columns] [-p pids]: the tasks of the machine", ps},
		{"random", "", random},
		{"refused", "", refusedCommand},
		{"readlink", "realpath", realpath},
		{"realpath", "realpath path…", realpath},
		{"renice", "renice [-n] n [-p] pid…: tasks of the machine", renice},
		{"rev", "rev [file…]", program(coreutils.Rev)},
		{"ring", "ring [-i instance] [cpu…]: draws the sub-buffers: R is the reader's, H the head, C the commit, T the tail", ring},
		{"rm", "rm [-rf] path…", rm},
		{"rmdir", "rmdir path…", rmdir},
		{"rmmod", "rmmod module…", rmmod},
		{"sed", "sed [-nEs] [-e] script [file…]", sedCommand},
		{"seq", "seq [-s sep] [first [step]] last", program(coreutils.Seq)},
		{"sh", "sh [-ex] [-c commands] [script [word…]]", shCommand},
		{"bash", "sh", shCommand},
		{"sleep", "sleep seconds, of simulated time", sleep},
		{"sort", "sort [-nrufbV] [-k field] [-t c] [file…]", program(coreutils.Sort)},
		{"stat", "stat -c format path…", stat},
		{"sync", "sync: nothing to do", nothing},
		{"su", "su [-c commands]: you are root already", su},
		{"sudo", "sudo [command…]", su},
		{"sysctl", "sysctl [-n] name | [-w] name=value: files of /proc/sys", sysctl},
		{"tac", "tac [file…]", program(coreutils.Tac)},
		{"tail", "tail [-n n|+n] [-c n] [file…]", program(coreutils.Tail)},
		{"taskset", "taskset -c cpu command…: for osnoise/per_cpu/cpuN/timerlat_fd", taskset},
		{"tee", "tee [-a] file…", program(coreutils.Tee)},
		{"timeout", "timeout seconds command…, of simulated time", timeout},
		{"top", "top: the tasks of the machine, once", top},
		{"touch", "touch path…", touch},
		{"tr", "tr [-dsc] set [set]", program(coreutils.Tr)},
		{"tracelist", "tracelist [path]: type, mode and path of every file", tracelist},
		{"umount", "umount folder…", umount},
		{"umask", "umask", umask},
		{"uname", "uname [-amnrsv]", uname},
		{"uniq", "uniq [-cdui] [file]", program(coreutils.Uniq)},
		{"unlink", "unlink path", rm},
		{"unpipe", "", endPipes},
		{"usleep", "usleep microseconds, of simulated time", sleep},
		{"watch", "watch [-n seconds] command…: runs it every 2 seconds of simulated time, until Ctrl-C", watch},
		{"wc", "wc [-lwc] [file…]", program(coreutils.Wc)},
		{"which", "which name…", which},
		{"xargs", "xargs [-n n] [-I word] [command…]", xargs},
		{"xxd", "xxd [file]", program(coreutils.Xxd)},
	}
}

func help(c *call) int {
	c.Printf("The lab's commands; none of the host's is ever run.\n\n")
	list := commands()
	slices.SortFunc(list, func(a, b command) int { return strings.Compare(a.name, b.name) })
	for _, cmd := range list {
		if cmd.help != "" {
			c.Printf("  %-10s %s\n", cmd.name, cmd.help)
		}
	}
	c.Printf("\nThe shell's own: cd pwd test [ read set unset export local trap wait eval . exit …\n")
	if s := c.sh.session; s != nil && !c.sh.cfg.Plain {
		c.Printf("\n%s", keysHelp)
	}
	return 0
}

// lookup answers type, command -v and command -V; see callLookup.
func lookup(c *call) int {
	if len(c.Args) < 2 { // a script called it by its own name
		return c.Usage("want what type and command -v give it")
	}
	asked, name := c.Args[0], c.Args[1]
	_, own := c.sh.commands[name]
	var what string
	switch {
	case len(c.Args) > 2:
		what = "a shell function"
	case interp.IsBuiltin(name) && !own:
		what = "a shell builtin"
	case own:
		what = "a command of the lab"
	default:
		if asked == "type" {
			fmt.Fprintf(c.Stderr, "sh: type: %s: not found\n", name)
		}
		return 1
	}
	switch {
	case asked == "type":
		c.Printf("%s is %s\n", name, what)
	default:
		c.Printf("%s\n", name)
	}
	return 0
}

func which(c *call) int {
	status := 0
	for _, name := range c.Args {
		if _, own := c.sh.commands[name]; own {
			c.Printf("/usr/bin/%s\n", name)
		} else {
			status = 1
		}
	}
	return status
}

func nothing(*call) int { return 0 }

// refusedCommand stands for a statement that the lab cannot run; see refused.
func refusedCommand(c *call) int {
	fmt.Fprintf(c.Stderr, "sh: %s\n", strings.Join(c.Args, " "))
	return 2
}
