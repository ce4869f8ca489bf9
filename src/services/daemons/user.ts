import { readFileSync } from 'node:fs';

/** A user of this machine, such as one that a daemon runs as. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export function userNamed(name: string): User | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined ? undefined : { name, uid: Number(uid), gid: Number(gid) };
}
