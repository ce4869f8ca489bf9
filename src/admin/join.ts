import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Type } from 'typebox';
import { keyName } from '../access/open-data.ts';
import { isWorkerName } from '../bus/index.ts';
import { DiskFull, isDiskFull } from '../core/disk-full.ts';
import { Fault } from '../core/errors.ts';
import { schemaCheck } from '../core/schema-check.ts';
import { isPostgresUrl } from '../core/settings.ts';
import { makeDirectory, syncDirectory, writeFileAtomically } from '../core/files.ts';
import { lockDataDirectory } from '../database/lock.ts';
import type { JoinContents, JoinFile } from './join-contents.ts';
import { openSealed, sealWith } from './sealed-file.ts';

/** Writes the contents into a new file that only its owner can read, and only with the passphrase. */
export async function writeJoinFile(file: string, passphrase: string, contents: JoinContents): Promise<void> {
  refuseExisting(file);
  const sealed = await sealWith(passphrase, Buffer.from(JSON.stringify(contents)));
  const target = resolve(file);
  let handle: number | undefined;
  try {
    handle = openSync(target, 'wx', 0o600);
    writeFileSync(handle, sealed);
    fsyncSync(handle);
    syncDirectory(dirname(target));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') refuseExisting(file);
    if (handle !== undefined) rmSync(target, { force: true });
    if (isDiskFull(error)) throw new DiskFull(`${file} cannot be written`, dirname(target), error);
    throw new Fault('unavailable', `${file} cannot be written: ${message}.`);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Before anybody is asked for a passphrase. */
export function refuseExisting(file: string): void {
  if (existsSync(file))
    throw new Fault('invalid', `${file} exists already, and muster did not write over it. Name another file.`);
}

export async function readJoinFile(file: string, passphrase: string): Promise<JoinContents> {
  let sealed: Buffer;
  try {
    sealed = readFileSync(file);
  } catch (error) {
    throw new Fault('invalid', `${file} cannot be read: ${(error as Error).message}.`);
  }
  const contents = readContents(await openSealed(passphrase, sealed, file));
  if (!contents) throw new Fault('invalid', `${file} was not written by muster join --export of this version.`);
  // Whoever knows the passphrase may have written it; what is written here must stay below the data directory.
  const foreign = contents.files.find(({ path }) => !allowedPath.test(path));
  if (foreign) throw new Fault('invalid', `${file} contains "${foreign.path}", which muster join does not take.`);
  return contents;
}

/** What the terminal shows of it: no control characters. */
const Word = Type.String({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' });

const contentsSchema = Type.Object({
  worker: Type.Optional(Type.Refine(Type.String(), isWorkerName)),
  from: Word,
  made: Word,
  database: Type.Optional(Type.Refine(Type.String(), isPostgresUrl)),
  bus: Type.Array(Word),
  daemons: Type.Optional(Type.Object({ names: Word, dhcp: Word })),
  files: Type.Array(Type.Object({ path: Type.String(), content: Type.String() })),
});
const contentsCheck = schemaCheck(contentsSchema);

function readContents(text: Buffer): JoinContents | undefined {
  try {
    const contents: unknown = JSON.parse(text.toString());
    return contentsCheck.is(contents) ? contents : undefined;
  } catch {
    return undefined;
  }
}

/** Certificates and public keys are for all; anything else is a secret. */
const modeOf = (path: string): number => (/\.(pem|pub)$/.test(path) ? 0o644 : 0o600);

const allowedPath =
  /^(secret\.key|tls\/ca\.(pem|key)|ssh\/id_ed25519(\.pub)?|(bus|bus\/workers|database)\/[A-Za-z0-9][A-Za-z0-9._-]*)$/;

/** Puts the files into the data directory, all or none. What is there already must be the same. The server must be stopped. */
export function takeIn(data: string, { files }: JoinContents): void {
  const lock = lockDataDirectory(data);
  const made: string[] = [];
  try {
    refuseInTheWay(data, files);
    // The key comes last: with it the directory is that of a server.
    const ordered = files.toSorted((a, b) => Number(a.path === keyName) - Number(b.path === keyName));
    for (const { path, content } of ordered) {
      const file = join(data, path);
      if (existsSync(file)) continue;
      makeDirectory(dirname(resolve(file)));
      made.push(file);
      writeFileAtomically(file, Buffer.from(content, 'base64'), modeOf(path));
    }
  } catch (error) {
    for (const file of made) rmSync(file, { force: true });
    if (isDiskFull(error)) throw new DiskFull('The files cannot be written, and nothing was changed', data, error);
    throw error;
  } finally {
    lock.release();
  }
}

function refuseInTheWay(data: string, files: readonly JoinFile[]): void {
  const isOther = ({ path, content }: JoinFile): boolean =>
    existsSync(join(data, path)) && readFileSync(join(data, path)).toString('base64') !== content;
  const others = files.filter(isOther).map(({ path }) => path);
  // A certificate that another authority has signed would stay in use.
  const authority = files.find(({ path }) => path === 'tls/ca.pem');
  const isNew = authority !== undefined && !existsSync(join(data, authority.path));
  if (isNew && existsSync(join(data, 'tls/server.pem'))) others.push('tls/server.pem');
  if (others.length === 0) return;
  throw new Fault('invalid', [
    `${data} has other files with the same names: ${others.join(', ')}. Nothing was written.`,
    'Name a new directory with --data. If nobody needs these files, move them away first.',
  ]);
}
