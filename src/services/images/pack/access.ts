import { lstatSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inQuotes } from '../../../core/shell-words.ts';
import { inTree, keepingTime, makeDirectoryInTree, readInTree, writeInTree } from '../tree/tree-path.ts';

/** Root's password, as a hash; the entry is replaced where it stands. */
export async function setRootPassword(tree: string, hash: string, time: number): Promise<void> {
  const days = Math.floor(time / 86_400);
  const entry = `root:${hash}:${days}:0:99999:7:::`;
  const lines = ((await readInTree(tree, '/etc/shadow'))?.toString() ?? '').split('\n').filter((line) => line !== '');
  const place = lines.findIndex((line) => line.startsWith('root:'));
  if (place < 0) lines.unshift(entry);
  else lines[place] = entry;
  await writeInTree(tree, '/etc/shadow', `${lines.join('\n')}\n`, { mode: 0o600, time });
}

/** Lets muster log in to nodes of the image. */
export async function authorizeKey(tree: string, key: string, time: number): Promise<void> {
  await makeDirectoryInTree(tree, '/root/.ssh', { mode: 0o700, time });
  const file = '/root/.ssh/authorized_keys';
  const lines = ((await readInTree(tree, file))?.toString() ?? '')
    .split('\n')
    .filter((line) => line !== '' && line !== key);
  await writeInTree(tree, file, `${[...lines, key].join('\n')}\n`, { mode: 0o600, time });
}

/** What each node has to have for itself: whoever can fetch the image would know its keys. */
export async function removeIdentity(tree: string, time: number): Promise<void> {
  const directory = inTree(tree, '/etc/ssh');
  const keys = lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(directory).filter((name) => /^ssh_host_.*key(\.pub)?$/.test(name))
    : [];
  if (keys.length > 0)
    await keepingTime(directory, () => Promise.all(keys.map((name) => rm(join(directory, name), { recursive: true }))));
  if (await readInTree(tree, '/etc/machine-id')) await writeInTree(tree, '/etc/machine-id', '', { mode: 0o444, time });
  // Debian makes host keys when the package is installed, and never again.
  if (await readInTree(tree, '/lib/systemd/system/ssh.service'))
    await writeInTree(tree, '/etc/systemd/system/ssh.service.d/muster.conf', makesKeys, { mode: 0o644, time });
}

/** On a slow machine that takes longer than a service may take to start. */
const makesKeys = `[Service]
TimeoutStartSec=600
ExecStartPre=
ExecStartPre=/usr/bin/ssh-keygen -A
ExecStartPre=/usr/sbin/sshd -t
`;

/** What the reference system's scripts on nodes look for. */
export async function nameImage(tree: string, image: string, when: string, time: number): Promise<void> {
  // Shells read it, and an image may be called almost anything.
  const lines = [`IMAGENAME=${inQuotes(image)}`, `TIMESTAMP='${when}'`];
  await writeInTree(tree, '/opt/xcat/xcatinfo', `${lines.join('\n')}\n`, { mode: 0o644, time });
}
