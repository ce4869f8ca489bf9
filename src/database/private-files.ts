import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { complain } from '../core/standard-streams.ts';

/** Files and directories that are nobody's but muster's. A key of secrets that others could read is refused, since they may have read it. */
const ownFiles = /^(muster\.sqlite|lock\.sqlite|pid$|initial-password$|hosts-lines\.jsonl)/;
const wholeTrees = ['tls', 'ssh', 'long-work', 'blobs'];
/** What is in these keeps its mode: nodes get files with the modes they have here. Named has a user of its own, who reads `dns`. */
const doorsOnly = ['files', 'postscripts', 'dhcp', 'boot'];

/** Takes the rights of others away from what is muster's in a data directory, whatever made it and under whichever umask. */
export function makePrivate(dataDir: string): void {
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    const path = join(dataDir, entry.name);
    if (entry.isFile() && ownFiles.test(entry.name)) narrow(path);
    if (!entry.isDirectory()) continue;
    if (wholeTrees.includes(entry.name)) makeTreePrivate(path);
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
  try {
    const { mode } = lstatSync(path);
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
  } catch (error) {
    complain(`muster: Others may be able to read ${path}: ${(error as Error).message}. Check its owner and mode.\n`);
  }
}
