// storm pipe|socket GROUPS PAIRS SECONDS: in each group, PAIRS senders write 100 bytes to each of PAIRS receivers in turn,
// so that the scheduler has work all the time.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char message[100];

static void part(int fd, int receiver, int (*fds)[2], int pairs, time_t end)
{
	if (receiver) {
		while (read(fd, message, sizeof message) > 0)
			;
		_exit(0);
	}
	while (time(0) < end)
		for (int n = 0; n < pairs; n++)
			if (write(fds[n][1], message, sizeof message) < 0)
				_exit(0);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int sockets = !strcmp(argv[1], "socket"), groups = atoi(argv[2]), pairs = atoi(argv[3]);
	time_t end = time(0) + atoi(argv[4]);
	for (int g = 0; g < groups; g++) {
		int fds[64][2];
		for (int n = 0; n < pairs; n++)
			if (sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds[n]) : pipe(fds[n]))
				return 1;
		for (int n = 0; n < 2 * pairs; n++)
			if (!fork()) {
				for (int k = 0; k < pairs && n < pairs; k++)
					close(fds[k][1]);
				part(n < pairs ? fds[n][0] : -1, n < pairs, fds, pairs, end);
			}
		for (int n = 0; n < pairs; n++)
			close(fds[n][0]), close(fds[n][1]);
	}
	while (wait(0) > 0)
		;
	return 0;
}
