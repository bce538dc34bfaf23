package cell

import (
	"slices"
	"strings"
)

// disguise makes of the text of a file that says what is mounted (mounts, mountinfo or
// mountstats) the one that it has where the kernel serves tracefs and debugfs. The files that
// stand over others are no mounts there.
//
// Departure: mountinfo says that these mounts are shared, as they are where systemd makes
// them: uftrace finds no others.
//
// Kernel: show_vfsmnt, show_mountinfo and show_vfsstat, fs/proc_namespace.c.
func disguise(file, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		at := placesIn(file, words)
		if at == nil {
			b.WriteString(line)
			continue
		}
		fstype, source, dir := &words[at.fstype], &words[at.source], words[at.dir]
		switch {
		case *fstype == "fuse.ftracelab", *fstype == "tmpfs" && *source == "ftracelab":
			continue
		case *fstype == "fuse.tracefs":
			*fstype, *source = "tracefs", "tracefs"
		case *fstype == "tmpfs" && dir == Debug:
			*fstype, *source = "debugfs", "debugfs"
		default:
			b.WriteString(line)
			continue
		}
		if at.options > 0 {
			words[at.options] = without(words[at.options])
		}
		if file == "mountinfo" && at.fstype == shortest {
			words = slices.Insert(words, at.fstype-1, "shared:"+words[0])
		}
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	return b.String()
}

// shortest is where the type is in a line of mountinfo without optional fields.
const shortest = 7

// places are where the words of a line are; 0 is none, but for the source.
type places struct{ source, dir, fstype, options int }

// placesIn finds the words; nil if it is another kind of line.
func placesIn(file string, words []string) *places {
	switch file {
	case "mounts":
		if len(words) >= 4 {
			return &places{source: 0, dir: 1, fstype: 2, options: 3}
		}
	case "mountinfo":
		if dash := slices.Index(words, "-"); dash >= 6 && len(words) > dash+3 {
			return &places{source: dash + 2, dir: 4, fstype: dash + 1, options: dash + 3}
		}
	case "mountstats":
		if len(words) >= 8 && words[0] == "device" && words[5] == "with" {
			return &places{source: 1, dir: 4, fstype: 7}
		}
	}
	return nil
}

// without is a list of options without those of FUSE and of tmpfs.
func without(options string) string {
	kept := slices.DeleteFunc(strings.Split(options, ","), func(option string) bool {
		name, _, _ := strings.Cut(option, "=")
		return slices.Contains([]string{
			"user_id", "group_id", "allow_other", "default_permissions", "max_read", "size", "mode", "nr_inodes", "inode64", "uid", "gid",
		}, name)
	})
	return strings.Join(kept, ",")
}
