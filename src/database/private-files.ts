import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Directories that are nobody's but muster's. */
const wholeTrees = ['tls', 'ssh', 'long-work'];
/** What is in these keeps its mode: nodes get files with the modes they have here. Named has a user of its own, who reads `dns`. */
const doorsOnly = ['files', 'postscripts', 'dhcp', 'boot'];

/**
 * Takes the rights of others away from what is in a data directory, whatever made it and under whichever umask. The key of secrets keeps
 * its mode: one that others could read is refused, since they may have read it.
 */
export function makePrivate(dataDir: string): void {
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const path = join(dataDir, entry.name);
    if (entry.isFile() && entry.name !== 'secret.key') narrow(path);
    else if (!entry.isDirectory()) continue;
    else if (wholeTrees.includes(entry.name)) makeTreePrivate(path);
    else if (doorsOnly.includes(entry.name)) narrow(path);
  }
}

/** A directory and all that is in it. Links are left alone. */
export function makeTreePrivate(directory: string): void {
  narrow(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) makeTreePrivate(path);
    else if (entry.isFile()) narrow(path);
  }
}

function narrow(path: string): void {
  const { mode } = lstatSync(path);
  if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
}
