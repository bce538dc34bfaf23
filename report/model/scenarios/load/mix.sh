#!/bin/bash
# mix.sh SECONDS FOLDER: a compiler, archives, searches, sorting, Python, pipes, and files that are written and removed.
end=$((SECONDS + $1)) to=$2 k=0
printf '#include <stdio.h>\nint f(int x){return x*3;}int main(int c,char**v){for(int i=0;i<c*10;i++)printf("%%d\\n",f(i));return 0;}\n' > "$to/m.c"
while [ $SECONDS -lt $end ]; do
	case $((k++ % 8)) in
	0) gcc -O1 -o "$to/m" "$to/m.c" && "$to/m";;
	1) tar cf "$to/t.tar" -C /usr/share/doc bash coreutils; tar tf "$to/t.tar";;
	2) find /usr/include -name '*.h' | head -400 | sort | md5sum;;
	3) python3 -S -c 'import os, socket
a, b = socket.socketpair()
for i in range(50): a.send(b"x" * 100); b.recv(200)
d = {i: str(i) for i in range(2000)}
open("'"$to"'/py", "w").write(str(d))
os.fsync(os.open("'"$to"'/py", os.O_RDONLY))';;
	4) storm socket 1 2 1;;
	5) grep -c . /proc/self/maps /proc/meminfo /proc/stat; seq 3000 | gzip -1 | gzip -d | wc -l;;
	6) for n in 1 2 3 4 5 6 7 8; do echo $n > "$to/f$n"; mv "$to/f$n" "$to/g$n"; ln "$to/g$n" "$to/h$n"; rm "$to/g$n" "$to/h$n"; done; sync -f "$to";;
	7) cp "$to/t.tar" "$to/t2.tar"; cat "$to/t2.tar"; rm -f "$to/t2.tar"; awk 'BEGIN { for (i = 0; i < 3000; i++) s += i * i; print s }';;
	esac
done
