/*
 * Preloaded into a process: every sync adds a byte to the file SYNC_COUNT, and takes SYNC_DELAY microseconds longer, as it would on
 * a disk slower than that of the machine at hand.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int noted(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *delay = getenv("SYNC_DELAY");
  const char *count = getenv("SYNC_COUNT");
  if (count) {
    int file = open(count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, ".", 1) != 1) abort();
    close(file);
  }
  if (delay) usleep((useconds_t)atoi(delay));
  return real(fd);
}

int fsync(int fd) { return noted("fsync", fd); }
int fdatasync(int fd) { return noted("fdatasync", fd); }
