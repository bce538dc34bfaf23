// A stack map of the kernel's design, as a process that takes turns with ours: a table
// of hashes and pointers, elements of 520 bytes that exist from the start, jhash2, and a
// reference count that all CPUs share. It has no reset and one writer.
//
//	stackmap BITS SEED DEPTH STACKS SAMPLES
//
// reads STACKS stacks of DEPTH addresses and SAMPLES numbers of stacks from its standard
// input, in the machine's byte order, and stores each stack once. Then it reads commands,
// one a line. A number N: look up the stacks of the next N samples, and print the
// nanoseconds that took. "dump": print the id and the reference count of each stack, in
// the order in which they were read, and a dot.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DEPTH = 64, PROBES = 64 };

struct element {
	uint32_t depth;
	int32_t ref;
	uint64_t ips[MAX_DEPTH];
};

struct slot {
	uint32_t key;
	struct element *element;
};

static struct slot *slots;
static struct element *pool;
static uint32_t bits, seed, handed_out;
static uint64_t successes, drops;

static inline uint32_t rol(uint32_t x, int k) { return x << k | x >> (32 - k); }

// jhash2 is Bob Jenkins' lookup3, three words at a time.
static uint32_t jhash2(const uint32_t *k, uint32_t n, uint32_t init)
{
	uint32_t a = 0xdeadbeef + (n << 2) + init, b = a, c = a;

#define STEP(x, y, z, r) (x -= z, x ^= rol(z, r), z += y)
	for (; n > 3; n -= 3, k += 3) {
		a += k[0], b += k[1], c += k[2];
		STEP(a, b, c, 4), STEP(b, c, a, 6), STEP(c, a, b, 8);
		STEP(a, b, c, 16), STEP(b, c, a, 19), STEP(c, a, b, 4);
	}
	if (n == 0)
		return c;
	c += n > 2 ? k[2] : 0;
	b += n > 1 ? k[1] : 0;
	a += k[0];
#define LAST(x, y, r) (x ^= y, x -= rol(y, r))
	LAST(c, b, 14), LAST(a, c, 11), LAST(b, a, 25), LAST(c, b, 16);
	LAST(a, c, 4), LAST(b, a, 14), LAST(c, b, 24);
	return c;
}

// get_id returns the id of a stack, or -1.
static int64_t get_id(const uint64_t *ips, uint32_t depth)
{
	uint32_t key = jhash2((const uint32_t *)ips, 2 * depth, seed);
	uint32_t mask = (2u << bits) - 1, id;

	key += key == 0;
	id = key >> (31 - bits);
	for (int n = 0; n < PROBES; n++, id = (id + 1) & mask) {
		struct slot *s = &slots[id];
		uint32_t there = __atomic_load_n(&s->key, __ATOMIC_RELAXED);

		if (there == key) {
			struct element *e = __atomic_load_n(&s->element, __ATOMIC_ACQUIRE);

			if (e && e->depth == depth && memcmp(e->ips, ips, 8 * depth) == 0) {
				__atomic_fetch_add(&e->ref, 1, __ATOMIC_RELAXED);
				successes++;
				return id;
			}
		} else if (there == 0 && __atomic_compare_exchange_n(&s->key, &there, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			struct element *e = &pool[handed_out];

			if (handed_out == 1u << bits)
				break;
			handed_out++;
			e->depth = depth;
			e->ref = 1;
			memcpy(e->ips, ips, 8 * depth);
			__atomic_store_n(&s->element, e, __ATOMIC_RELEASE);
			successes++;
			return id;
		}
	}
	drops++;
	return -1;
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("stackmap");
		exit(1);
	}
	return p;
}

static void *input(size_t n, size_t size)
{
	void *p = room(n, size);

	if (fread(p, size, n, stdin) != n) {
		fprintf(stderr, "stackmap: the input is too short\n");
		exit(1);
	}
	return p;
}

int main(int argc, char **argv)
{
	uint32_t depth, stacks, samples, at = 0;
	uint64_t buffer[MAX_DEPTH];
	char line[32];

	if (argc != 6)
		return 2;
	bits = strtoul(argv[1], NULL, 10);
	seed = strtoul(argv[2], NULL, 10);
	depth = strtoul(argv[3], NULL, 10);
	stacks = strtoul(argv[4], NULL, 10);
	samples = strtoul(argv[5], NULL, 10);
	if (bits < 10 || bits > 18 || depth < 1 || depth > MAX_DEPTH || stacks == 0 || samples == 0)
		return 2;
	slots = room(2ul << bits, sizeof *slots);
	pool = room(1ul << bits, sizeof *pool);
	const uint64_t *ips = input((size_t)stacks * depth, sizeof *ips);
	const uint32_t *sample = input(samples, sizeof *sample);

	for (uint32_t i = 0; i < samples; i++)
		if (sample[i] >= stacks)
			return 2;
	for (uint32_t i = 0; i < stacks; i++)
		get_id(ips + (size_t)i * depth, depth);
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "dump\n") == 0) {
			for (uint32_t i = 0; i < stacks; i++) {
				int64_t id = get_id(ips + (size_t)i * depth, depth);

				printf("%lld %d\n", (long long)id, id < 0 ? 0 : slots[id].element->ref);
			}
			printf(".\n");
		} else {
			unsigned long n = strtoul(line, NULL, 10);
			struct timespec start, end;

			clock_gettime(CLOCK_MONOTONIC, &start);
			for (; n > 0; n--) {
				memcpy(buffer, ips + (size_t)sample[at] * depth, 8 * depth);
				get_id(buffer, depth);
				if (++at == samples)
					at = 0;
			}
			clock_gettime(CLOCK_MONOTONIC, &end);
			printf("%lld\n", (end.tv_sec - start.tv_sec) * 1000000000ll + end.tv_nsec - start.tv_nsec);
		}
		fflush(stdout);
	}
	return 0;
}
