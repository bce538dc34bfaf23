/*
 * A 32-bit program without a C library, with frame pointers. compat.elf is made of it:
 *
 * gcc -m32 -O1 -fno-omit-frame-pointer -fno-pic -no-pie -fno-asynchronous-unwind-tables \
 *     -nostdlib -static -Wl,--build-id=none -o compat.elf compat.c
 */
asm(".globl _start\n"
    "_start: xor %ebp, %ebp\n"
    "call run\n"
    "mov %eax, %ebx\n"
    "mov $1, %eax\n"
    "int $0x80\n"
    "hlt\n"
    ".type _start, @function\n"
    ".size _start, .-_start\n");

static long call(long nr, long a)
{
	long r;

	asm volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a) : "memory");
	return r;
}

__attribute__((noinline)) int ask(int n)
{
	return call(20, n) + n; /* getpid */
}

__attribute__((noinline)) int nap(int n)
{
	return call(162, n) ? n : ask(n); /* nanosleep */
}

__attribute__((noinline)) int deep(int n)
{
	return n < 2 ? nap(n) + 1 : deep(n - 1) + ask(n) + 1;
}

int run(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += deep(i) + 1;
	return sum;
}
