// server WORKERS CLIENTS KB SECONDS: processes that wait with epoll answer requests over loopback TCP with parts of a file
// of KB kilobytes; clients connect, ask up to 20 times, look at what comes, and close.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 16];
static unsigned state;

static unsigned chance(unsigned below)
{
	state ^= state << 13, state ^= state >> 17, state ^= state << 5;
	return state % below;
}

static int all(int fd, char *at, int n, int writes)
{
	while (n > 0) {
		int got = writes ? write(fd, at, n) : read(fd, at, n);
		if (got <= 0)
			return -1;
		n -= got, at += got;
	}
	return 0;
}

static void work(int listening, int file)
{
	int poll = epoll_create1(0), one = 1;
	struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = listening}, ready[16];
	epoll_ctl(poll, EPOLL_CTL_ADD, listening, &e);
	for (;;) {
		int n = epoll_wait(poll, ready, 16, -1);
		while (n-- > 0) {
			int fd = ready[n].data.fd, want;
			if (fd == listening) {
				if ((fd = accept4(listening, 0, 0, 0)) >= 0) {
					setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
					e.events = EPOLLIN, e.data.fd = fd;
					epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
				}
				continue;
			}
			if (recv(fd, &want, sizeof want, MSG_WAITALL) != sizeof want) {
				close(fd);
				continue;
			}
			off_t from = 0;
			if (want % 3 == 0)
				while (from < want && sendfile(fd, file, &from, want - from) > 0)
					;
			else
				all(fd, buffer, want, 1);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int workers = atoi(argv[1]), clients = atoi(argv[2]), most = atoi(argv[3]) << 10, one = 1;
	time_t end = time(0) + atoi(argv[4]);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(8080), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int file = open("/tmp/served", O_RDWR | O_CREAT, 0600), listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (most > (int)sizeof buffer || write(file, buffer, most) != most || bind(listening, (void *)&to, sizeof to) || listen(listening, 64))
		return 1;
	signal(SIGPIPE, SIG_IGN);
	pid_t served[64];
	for (int n = 0; n < workers; n++)
		if (!(served[n] = fork())) {
			prctl(PR_SET_NAME, "worker");
			work(listening, file);
		}
	for (int n = 0; n < clients; n++)
		if (!fork()) {
			prctl(PR_SET_NAME, "client");
			state = 7919 * (n + 1);
			while (time(0) < end) {
				int fd = socket(AF_INET, SOCK_STREAM, 0);
				if (connect(fd, (void *)&to, sizeof to))
					_exit(1);
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
				for (int asks = 1 + chance(20); asks > 0; asks--) {
					int want = chance(8) ? 1 + chance(2000) : 1 + chance(most);
					if (all(fd, (void *)&want, sizeof want, 1) || all(fd, buffer, want, 0))
						break;
					usleep(chance(2000));
				}
				close(fd);
			}
			_exit(0);
		}
	for (int n = 0; n < clients; n++)
		wait(0);
	for (int n = 0; n < workers; n++)
		kill(served[n], SIGKILL);
	return 0;
}
