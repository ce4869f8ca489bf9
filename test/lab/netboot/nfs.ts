import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { hasEnded, type LabChild, startChild } from '../child.ts';
import type { Namespace } from '../netns.ts';

/** A server of files in a namespace: `tree` below the directory, read-only, as `/tree`. */
export async function serveNfs(namespace: Namespace, directory: string): Promise<LabChild> {
  const file = (name: string): string => join(directory, name);
  for (const name of ['tree', 'recovery']) mkdirSync(file(name), { recursive: true });
  const configuration = [
    'NFS_CORE_PARAM { Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }',
    `NFSV4 { Graceless = true; Only_Numeric_Owners = true; RecoveryRoot = ${file('recovery')}; }`,
    `EXPORT { Export_Id = 1; Path = ${file('tree')}; Pseudo = /tree; Access_Type = RO; Squash = No_Root_Squash; SecType = sys; Protocols = 4; Transports = TCP; FSAL { Name = VFS; } }`,
  ];
  writeFileSync(file('ganesha.conf'), configuration.map((line) => `${line}\n`).join(''));
  const args = ['-F', '-f', file('ganesha.conf'), '-L', 'STDERR', '-p', file('pid')];
  const [program, ...words] = namespace.command('ganesha.nfsd', ...args);
  const child = startChild(program, words, { directory, logFile: file('log') });
  while (!namespace.run('ss', '-Hltn', 'sport = :2049').includes(':2049')) {
    if (hasEnded(child)) throw new Error(`ganesha.nfsd has ended: ${child.log().slice(-2_000)}`);
    await pause(50);
  }
  return child;
}
