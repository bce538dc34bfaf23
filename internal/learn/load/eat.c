// eat MB: writes to MB of memory, a page at a time, reads all of them once more, and ends.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	size_t n = (size_t)atoi(argv[1]) << 20; long sum = 0;
	char *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) { perror("mmap"); return 1; }
	for (size_t i = 0; i < n; i += 4096) p[i] = (char)(i >> 12);
	for (size_t i = 0; i < n; i += 4096) sum += p[i];
	return sum == 42;
}
