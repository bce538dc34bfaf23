package cell

import "testing"

// Each kind of file is disguised; lines of other mounts, also such that FUSE serves, and lines
// that are none stay as they are.
func TestDisguise(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{
			"mounts",
			"/dev/vda / ext4 rw,discard 0 0\n" +
				"x\v/sys/kernel/tracing\vtracefs /sys/kernel/tracing fuse.tracefs rw,nosuid,user_id=0,group_id=0,max_read=131072 0 0\n" +
				"x\v/sys/kernel/debug\vdebugfs /sys/kernel/debug tmpfs ro,nosuid,size=64k,mode=755,inode64 0 0\nftracelab /proc/version fuse.ftracelab rw 0 0\n" +
				"ftracelab /hidden tmpfs ro,mode=755 0 0\ntmpfs /tmp tmpfs rw,size=64k 0 0\nme@there: /home/me fuse.sshfs rw,user_id=0 0 0\nshort line\n",
			"/dev/vda / ext4 rw,discard 0 0\ntracefs /sys/kernel/tracing tracefs rw,nosuid 0 0\ndebugfs /sys/kernel/debug debugfs ro,nosuid 0 0\n" +
				"tmpfs /tmp tmpfs rw,size=64k 0 0\nme@there: /home/me fuse.sshfs rw,user_id=0 0 0\nshort line\n",
		},
		{
			"mountinfo",
			"69 68 254:0 / / rw - ext4 /dev/vda rw\n93 72 0:40 / /sys/kernel/tracing rw,nosuid - fuse.tracefs x\v/sys\vtracefs rw,user_id=0,allow_other\n" +
				"94 72 0:40 / /a rw master:3 - fuse.tracefs x rw,user_id=0\n" +
				"95 72 0:41 / /proc/version rw - fuse.ftracelab ftracelab rw\n96 72 0:4 - /dash rw - tmpfs t rw,size=1\n",
			"69 68 254:0 / / rw - ext4 /dev/vda rw\n93 72 0:40 / /sys/kernel/tracing rw,nosuid shared:93 - tracefs tracefs rw\n" +
				"94 72 0:40 / /a rw master:3 - tracefs tracefs rw\n96 72 0:4 - /dash rw - tmpfs t rw,size=1\n",
		},
		{
			"mountstats",
			"device /dev/vda mounted on / with fstype ext4\ndevice x\v/d\vtracefs mounted on /d with fstype fuse.tracefs\n" +
				"device ftracelab mounted on /x with fstype fuse.ftracelab\n" +
				"device s:/x mounted on /n with fstype nfs statvers=1.1\n\topts: rw\n",
			"device /dev/vda mounted on / with fstype ext4\ndevice tracefs mounted on /d with fstype tracefs\n" +
				"device s:/x mounted on /n with fstype nfs statvers=1.1\n\topts: rw\n",
		},
	} {
		if got := disguise(c.file, c.text); got != c.want {
			t.Errorf("%s is\n%s\nwant\n%s", c.file, got, c.want)
		}
	}
}

// Only root's files are root's.
func TestRootsFiles(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\tx\nUid:\t0\t0\t0\t0\n": true, "Uid:\t0\t0\t0\t1000\n": false, "Uid:\t1000\t1000\t1000\t0\n": true, "Uid:\t0\n": false, "": false,
	} {
		if got := rootsFiles(status); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}
