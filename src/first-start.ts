import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { hashPassword, verifyPassword } from './access/crypt.ts';
import type { Config } from './config.ts';
import { home } from './core/home.ts';
import { writeFileAtomically } from './core/files.ts';
import { ownOrigin } from './database/changeset.ts';
import { Draft, type Seal } from './database/draft.ts';
import type { Store } from './database/store.ts';
import { keyOf, tableNamed } from './database/tables.ts';
import { accountKey, accountNames, accountRow } from './objects/accounts.ts';
import type { Logger } from './core/log.ts';
import type { Snapshot } from './database/snapshot.ts';
import usualSite from './usual-site.json' with { type: 'json' };

/** Gives a database without accounts its first account and the rule that lets it do everything. Returns what is to be said about it. */
export async function prepareFirstStart(
  store: Store,
  seal: Seal,
  { data, rootPassword, newDatabase }: Config,
): Promise<string> {
  // Only to spare every later start the hashing; whether it is the first is found out by the change.
  if (accountNames(store.current).length > 0) return '';
  const generated = rootPassword === undefined ? randomBytes(18).toString('base64url') : undefined;
  const file = initialPasswordFile(data);
  if (generated !== undefined) writeFileAtomically(file, `${generated}\n`, 0o600);
  const password = await hashPassword((rootPassword ?? generated)!);
  let isFirst = false;
  await store.change(ownOrigin('first-start'), (head) => {
    const draft = new Draft(head, seal);
    isFirst = accountNames(head).length === 0;
    if (!isFirst) return [];
    const account = { key: accountKey, username: 'root', password };
    draft.merge('passwd', keyOf(tableNamed('passwd'), account), account);
    if (!head.get('policy', '1')) draft.merge('policy', '1', { priority: '1', name: 'root', rule: 'allow' });
    if (newDatabase === 'usual') fillUsual(draft);
    return draft.changes();
  });
  if (generated === undefined) return '';
  if (isFirst) return `root's password is in ${file}; the page manual/accounts of the server shows how to change it.\n`;
  rmSync(file);
  return '';
}

/** What is on every new management node of the reference system. Its own address and domain only people know. */
function fillUsual(draft: Draft): void {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  for (const [key, value] of Object.entries({ ...usualSite, timezone: timeZone }))
    if (!draft.get('site', key)) draft.merge('site', key, { key, value });
  const node = 'xcatdefaults';
  if (!draft.get('postscripts', node)) draft.merge('postscripts', node, { node, ...usualScripts });
}

const usualScripts = { postscripts: 'syslog,remoteshell,syncfiles', postbootscripts: 'otherpkgs' };

/** What to do next, for somebody who sees the first start at a terminal. */
export function nextSteps(): string {
  const muster = home === packageHome ? 'muster' : join(home, 'bin/muster');
  return [
    '',
    'Next, in another terminal as this user:',
    `  1. Check the server:        ${muster} doctor`,
    `  2. Say what only you know:  ${muster} chdef -t site domain=DOMAIN master=ADDRESS nameservers=ADDRESS`,
    `  3. Define the first node:   ${muster} mkdef -t node n1 groups=all ip=ADDRESS`,
    `${muster} help --page first-cluster shows how to go on.`,
    '',
  ].join('\n');
}

const packageHome = '/usr/lib/muster';

const initialPasswordFile = (data: string): string => join(data, 'initial-password');

const rootPassword = (snapshot: Snapshot): string | undefined => accountRow(snapshot, 'root')?.['password'];

/** The file with root's first password goes with that password: now, if it was changed while nobody served, or as soon as it changes. */
export async function dropInitialPassword(data: string, store: Store, log: Logger): Promise<void> {
  const file = initialPasswordFile(data);
  if (!existsSync(file)) return;
  const stored = rootPassword(store.current);
  if (!(await holds(file, stored))) return remove(file, log);
  const stop = store.subscribe((current) => {
    if (rootPassword(current) === stored) return;
    stop();
    remove(file, log);
  });
}

async function holds(file: string, stored: string | undefined): Promise<boolean> {
  return stored !== undefined && (await verifyPassword(readFileSync(file, 'utf8').trim(), stored));
}

function remove(file: string, log: Logger): void {
  try {
    rmSync(file, { force: true });
    log.info(`${file} was removed: root has another password now.`);
  } catch (error) {
    log.error(
      { err: error },
      `${file} holds a password that root no longer has, and muster could not remove it: remove it by hand.`,
    );
  }
}
