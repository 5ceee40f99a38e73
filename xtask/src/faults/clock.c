/* Moves the time of day of the process that loads it, as far as a file of eight bytes says: setting the real clock
   would move that of every process. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *seconds;

__attribute__((constructor)) static void find(void)
{
    const char *path = getenv("CLOCK_SECONDS");
    int file = path ? open(path, O_RDONLY) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    seconds = map == MAP_FAILED ? 0 : map;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && seconds)
        time->tv_sec += *seconds;
    return (int)failed;
}
