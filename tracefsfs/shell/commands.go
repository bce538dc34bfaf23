package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/interp"
)

// commands is the table of the lab's commands, sorted by name.
func commands() []command {
	return []command{
		{"awk", "awk [-F fs] [-v var=value] program [file…]", awkCommand},
		{"basename", "basename path [suffix]", basename},
		{"cat", "cat [-n] [file…]", cat},
		{"chrt", "chrt [-o|-f|-r|-b|-i|-d] [-T ns] [-D ns] [-P ns] priority command…, or -p [priority] pid: tasks of the machine", chrt},
		{"chgrp", "chgrp: refused, tracefs is root's here", refuse},
		{"chmod", "chmod: refused, tracefs is root's here", refuse},
		{"chown", "chown: refused, tracefs is root's here", refuse},
		{"cp", "cp from… to", cp},
		{"cut", "cut -d c -f list | -c list [-s] [file…]", cut},
		{"date", "date [+format], of simulated time", date},
		{"dd", "dd [if=file] [of=file] [bs=n] [count=n] [skip=n]", dd},
		{"diff", "diff [-q] file file", diff},
		{"dirname", "dirname path", dirname},
		{"echo", "echo [-n] [-e] [word…]: one write(2)", echo},
		{"egrep", "grep -E", egrep},
		{"env", "env: the environment", envCommand},
		{"expr", "expr expression", exprCommand},
		{"fgrep", "grep -F", fgrep},
		{"find", "find [path…] [-name p] [-type f|d] [-maxdepth n] [-mindepth n] [-printf f]", find},
		{"gawk", "awk", awkCommand},
		{"grep", "grep [-EFiwxvcnoqlLhHsr] [-A n] [-B n] [-C n] [-m n] [-e] pattern [file…]", grep},
		{"head", "head [-n n] [-c n] [file…]", head},
		{"help", "help: this list", help},
		{"hexdump", "hexdump -C [file…]", hexdump},
		{"hostname", "hostname", hostnameCommand},
		{"id", "id [-u|-g|-n]", id},
		{"insmod", "insmod module [name=value…]", modprobe},
		{"kill", "kill $! | %n: ends a background job", kill},
		{"ls", "ls [-ladR1] [path…]", ls},
		{"lsmod", "lsmod: the modules loaded", lsmod},
		{"lookup", "", lookup},
		{"md5sum", "md5sum [file…]", md5sum},
		{"mkdir", "mkdir [-p] path…: an instance, or a folder in /tmp", mkdir},
		{"mktemp", "mktemp [-d] [template]: in /tmp", mktemp},
		{"modprobe", "modprobe [-r] module [name=value…]: preemptirq_delay_test, trace_printk, ftrace_direct, ftrace_direct_too", modprobe},
		{"mount", "mount: what is mounted", mount},
		{"mv", "mv from… to", mv},
		{"nice", "nice [-n n] command…: a task of the machine", nice},
		{"nproc", "nproc", nproc},
		{"od", "od [-A n] [-t x1|c|…] [file…]", od},
		{"printf", "printf format [word…]: one write(2)", printfCommand},
		{"random", "", random},
		{"readlink", "realpath", realpath},
		{"realpath", "realpath path…", realpath},
		{"renice", "renice [-n] n [-p] pid…: tasks of the machine", renice},
		{"rev", "rev [file…]", rev},
		{"rm", "rm [-rf] path…", rm},
		{"rmdir", "rmdir path…", rmdir},
		{"rmmod", "rmmod module…", rmmod},
		{"sed", "sed [-nEs] [-e] script [file…]", sedCommand},
		{"seq", "seq [-s sep] [first [step]] last", seq},
		{"sh", "sh [-ex] [-c commands] [script [word…]]", shCommand},
		{"bash", "sh", shCommand},
		{"sleep", "sleep seconds, of simulated time", sleep},
		{"sort", "sort [-nrufbV] [-k field] [-t c] [file…]", sortCommand},
		{"stat", "stat -c format path…", stat},
		{"sync", "sync: nothing to do", nothing},
		{"tac", "tac [file…]", tac},
		{"tail", "tail [-n n|+n] [-c n] [file…]", tail},
		{"taskset", "taskset -c cpu command…: for osnoise/per_cpu/cpuN/timerlat_fd", taskset},
		{"tee", "tee [-a] file…", tee},
		{"touch", "touch path…", touch},
		{"tr", "tr [-dsc] set [set]", tr},
		{"tracelist", "tracelist [path]: type, mode and path of every file", tracelist},
		{"umask", "umask", umask},
		{"uname", "uname [-amnrsv]", uname},
		{"uniq", "uniq [-cdui] [file]", uniq},
		{"unlink", "unlink path", rm},
		{"usleep", "usleep microseconds, of simulated time", sleep},
		{"wc", "wc [-lwc] [file…]", wc},
		{"which", "which name…", which},
		{"xargs", "xargs [-n n] [-I word] [command…]", xargs},
		{"xxd", "xxd [file]", xxd},
	}
}

func help(c *call) int {
	c.printf("The lab's commands; none of the host's is ever run.\n\n")
	list := commands()
	slices.SortFunc(list, func(a, b command) int { return strings.Compare(a.name, b.name) })
	for _, cmd := range list {
		if cmd.help != "" {
			c.printf("  %-10s %s\n", cmd.name, cmd.help)
		}
	}
	c.printf("\nThe shell's own: cd pwd test [ read set unset export local trap wait eval . exit …\n")
	return 0
}

// lookup answers type, command -v and command -V; see callLookup.
func lookup(c *call) int {
	if len(c.args) < 2 { // a script called it by its own name
		return c.usage("want what type and command -v give it")
	}
	asked, name := c.args[0], c.args[1]
	_, own := c.sh.commands[name]
	var what string
	switch {
	case len(c.args) > 2:
		what = "a shell function"
	case interp.IsBuiltin(name) && !own:
		what = "a shell builtin"
	case own:
		what = "a command of the lab"
	default:
		if asked == "type" {
			fmt.Fprintf(c.stderr, "sh: type: %s: not found\n", name)
		}
		return 1
	}
	switch {
	case asked == "type":
		c.printf("%s is %s\n", name, what)
	default:
		c.printf("%s\n", name)
	}
	return 0
}

func which(c *call) int {
	status := 0
	for _, name := range c.args {
		if _, own := c.sh.commands[name]; own {
			c.printf("/usr/bin/%s\n", name)
		} else {
			status = 1
		}
	}
	return status
}

func nothing(*call) int { return 0 }
