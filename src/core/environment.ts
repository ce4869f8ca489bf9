import koffi from 'koffi';

/**
 * Takes variables out of the environment, so that what is started from here does not get them, and writes over their values, since the
 * kernel shows the environment that a process began with in /proc/PID/environ.
 */
export function dropVariables(names: readonly string[]): void {
  if (names.length === 0) return;
  const libc = koffi.load('libc.so.6');
  const getenv = libc.func('void *getenv(const char *name)');
  const strlen = libc.func('size_t strlen(void *text)');
  const memset = libc.func('void *memset(void *at, int byte, size_t count)');
  for (const name of names) {
    const value: unknown = getenv(name);
    if (value) memset(value, 0x78, strlen(value));
    delete process.env[name];
  }
}
