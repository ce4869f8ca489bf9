import { lastError, libc } from './libc.ts';

const localFamily = 1;
const datagram = 2;
const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
/** Longest name of a local socket, in bytes. */
const longestName = 107;

/**
 * Reports to systemd that the service is ready, if systemd has started this process as a service of the kind `notify`. From then on
 * the watchdog (`WatchdogSec=`) hears that the event loop still turns; otherwise systemd restarts the service.
 */
export function reportReady(status: string, warn: (sentence: string) => void): void {
  const problem = notify('READY=1', `STATUS=${status}`);
  if (problem !== undefined) warn(`systemd did not hear that muster is ready: ${problem}.`);
  const { WATCHDOG_USEC: microseconds, WATCHDOG_PID: pid } = process.env;
  if (!(Number(microseconds) > 0) || (pid !== undefined && Number(pid) !== process.pid)) return;
  setInterval(() => notify('WATCHDOG=1'), Number(microseconds) / 3_000).unref();
}

export function reportStopping(): void {
  notify('STOPPING=1', 'STATUS=Finishing running requests');
}

/** Sends lines as sd_notify(3) describes them. Returns why they did not arrive; undefined if they did, or if nobody waits for them. */
function notify(...lines: readonly string[]): string | undefined {
  const name = process.env['NOTIFY_SOCKET'];
  if (!name) return undefined;
  const path = Buffer.from(name);
  if (path.length > longestName || !/^[/@]/.test(name)) return `NOTIFY_SOCKET names no socket: ${name}`;
  // A name that begins with @ is abstract: its first byte is zero, and no zero ends it.
  const isAbstract = name.startsWith('@');
  if (isAbstract) path[0] = 0;
  const address = Buffer.alloc(2 + path.length + (isAbstract ? 0 : 1));
  address.writeUInt16LE(localFamily);
  path.copy(address, 2);
  const fd = libc().socket(localFamily, datagram | closeOnExec | nonBlocking, 0);
  if (fd < 0) return lastError();
  try {
    const message = Buffer.from(lines.join('\n'));
    if (libc().connect(fd, address, address.length) !== 0) return lastError();
    return libc().send(fd, message, message.length, 0) === message.length ? undefined : lastError();
  } finally {
    libc().close(fd);
  }
}
