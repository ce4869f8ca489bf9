import { libc } from './libc.ts';

/**
 * Takes variables out of the environment, so that what is started from here does not get them, and writes over their values, since the
 * kernel shows the environment that a process began with in /proc/PID/environ.
 */
export function dropVariables(names: readonly string[]): void {
  if (names.length === 0) return;
  const { getenv, strlen, memset } = libc();
  for (const name of names) {
    const value = getenv(name);
    if (value) memset(value, 0x78, strlen(value));
    delete process.env[name];
  }
}
