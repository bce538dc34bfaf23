// hold MB SECONDS: writes to memory until MB are available, and keeps what it has for SECONDS.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
static long available(void) {
	char line[128]; long kb = 0; FILE *f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof line, f)) if (sscanf(line, "MemAvailable: %ld", &kb) == 1) break;
	if (f) fclose(f);
	return kb >> 10;
}
int main(int argc, char **argv) {
	long leave = atol(argv[1]), mb = 0; mlockall(MCL_CURRENT | MCL_FUTURE);
	while (available() > leave && mb < 4096) {
		char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED) break;
		for (int i = 0; i < 1 << 20; i += 4096) p[i] = i >> 12;
		mb++;
	}
	printf("holds %ld MB, %ld available\n", mb, available()); fflush(stdout);
	sleep(atoi(argv[2]));
	return 0;
}
