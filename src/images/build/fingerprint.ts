import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Fault } from '../../core/errors.ts';
import type { Work } from '../../work/index.ts';
import type { GenJob, Recipe } from './gen-job.ts';
import { indexFiles } from './package-sources.ts';
import { applets, ramdiskScripts } from './ramdisk-tools.ts';

const indexTimeout = 30_000;
const longestIndex = 4 * 1024 * 1024;
const pieceSize = 1 << 20;

/** Says of a tree what it was made from: the recipe, and the state of the repositories at that time. */
export interface Fingerprint {
  readonly recipe: string;
  readonly repositories: string;
}

export const asText = ({ recipe, repositories }: Fingerprint): string => `${recipe}.${repositories}`;

/** A muster with other scripts makes another initial RAM disk of the same recipe. */
export async function fingerprintOf(
  { recipe, permission }: Pick<GenJob, 'recipe' | 'permission'>,
  task: Pick<Work, 'signal'>,
  ramdisk = ramdiskScripts(),
): Promise<Fingerprint> {
  const { packages, others, family, suite } = recipe;
  const indices = [...packages.sources, ...others.sources].flatMap((source) => indexFiles(source, family, suite));
  const repositories = createHash('sha256');
  for (const place of indices) {
    const hash = place.startsWith('/') ? await hashFile(place) : await hashUrl(place, task.signal);
    repositories.update(`${place} ${hash}\n`);
  }
  const scripts = [...ramdisk].map(([place, text]) => [place, text.toString('latin1')]);
  return { recipe: hashOf([permission, recipe, applets, scripts]), repositories: repositories.digest('hex') };
}

export const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The SHA-256 of a file; empty if there is none. */
export async function hashFile(path: string): Promise<string> {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (!entry) return '';
  if (!entry.isFile()) throw new Fault('invalid', `${path} is not a file.`);
  const file = await open(path);
  try {
    return await hashOfContent(file);
  } finally {
    await file.close();
  }
}

/** While one piece is hashed the next is read. */
async function hashOfContent(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  let [spare, reading] = [Buffer.allocUnsafe(pieceSize), file.read(Buffer.allocUnsafe(pieceSize), 0, pieceSize)];
  for (;;) {
    const { bytesRead, buffer } = await reading;
    if (bytesRead === 0) return hash.digest('hex');
    reading = file.read(spare, 0, pieceSize);
    hash.update(buffer.subarray(0, bytesRead));
    spare = buffer;
  }
}

async function hashUrl(url: string, signal: AbortSignal): Promise<string> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(indexTimeout)]);
  try {
    const reply = await fetch(url, { signal: over });
    if (!reply.ok || !reply.body) throw new Error(`the server answers ${reply.status}`);
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of reply.body) {
      length += chunk.length;
      if (length > longestIndex) throw new Error(`it has more than ${longestIndex} bytes`);
      hash.update(chunk);
    }
    return hash.digest('hex');
  } catch (error) {
    signal.throwIfAborted();
    throw new Fault(
      'invalid',
      `The index ${url} cannot be read: ${reasonOf(error)}. Look at pkgdir and at the network.`,
      { cause: error },
    );
  }
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
};

/** What a tree of the old recipe needs to become one of the new: packages only; undefined if it must be built again. */
export function updateOf(
  before: Recipe,
  after: Recipe,
): { readonly add: string[]; readonly drop: string[] } | undefined {
  const rest = (recipe: Recipe) => hashOf({ ...recipe, packages: [], others: [], sources: sourcesOf(recipe) });
  if (rest(before) !== rest(after)) return undefined;
  const [old, now] = [namesOf(before), namesOf(after)];
  if (old === undefined || now === undefined) return undefined;
  return {
    add: [...now.install].filter((name) => !old.install.has(name)),
    drop: [...[...old.install].filter((name) => !now.install.has(name)), ...now.remove],
  };
}

const sourcesOf = ({ packages, others }: Recipe): unknown => [packages.sources, others.sources];

/** Steps that depend on their order or on variables are not undone. */
function namesOf({ packages, others }: Recipe): { install: Set<string>; remove: string[] } | undefined {
  const steps = [...packages.steps, ...others.steps];
  if (packages.steps.length > 1 || others.steps.length > 1) return undefined;
  if (
    steps.some(
      ({ environment, install }) => Object.keys(environment).length > 0 || install.some((name) => name.startsWith('@')),
    )
  )
    return undefined;
  return {
    install: new Set(steps.flatMap(({ install }) => install)),
    remove: steps.flatMap(({ removeBefore, removeAfter }) => [...removeBefore, ...removeAfter]),
  };
}
