import { Fault } from '../../core/errors.ts';
import { CollectedOutput } from '../../protocols/ssh/collected.ts';
import { commandLine } from '../../core/shell-words.ts';
import type { Exit, Output } from '../../protocols/ssh/target.ts';
import type { RemoteNode } from './remote-nodes.ts';
import type { TreeArchive } from './tree-layout.ts';

/** What the node says when it waits for the archive. Whatever else answers there gets none. */
const greeting = 'muster unpacks';
/** The code that it ends with where no tar is of use. */
const withoutTar = 97;
/** Bytes of output that are kept, to say why it failed. */
const keptOutput = 8_192;

/**
 * What a POSIX shell does there, in one line, as that is what every login shell can quote. Of arguments `$1` is the directory to work
 * in, `$2` the archive's control directory, `$3` the letters for tar. Whatever ends it, it tidies up.
 */
const unpacking = [
  'umask 077',
  'LC_ALL=C',
  'export LC_ALL',
  'control=$2',
  'tidy() { test -f "$control/tidy" && sh "$control/tidy"; rm -rf "$control"; }',
  'cd "$1" || exit 1',
  `command -v tar > /dev/null || exit ${withoutTar}`,
  'trap tidy EXIT',
  'trap "exit 1" HUP INT TERM PIPE',
  `echo "${greeting}"`,
  `tar "$3" - || { test -s "$control/tidy" || exit ${withoutTar}; exit 1; }`,
  'test -f "$control/plan" || { echo "the archive is incomplete" >&2; exit 1; }',
  'sh "$control/plan" "$3"',
].join('; ');

export interface UnpackOptions {
  /** The directory on the node that the archive's names begin in. */
  readonly base: string;
  readonly keepOwner: boolean;
  readonly signal: AbortSignal;
}

/** Sends an archive to a node, which unpacks it and moves everything to its place; false if the node cannot. */
export async function unpack(
  node: Pick<RemoteNode, 'exec'>,
  archive: TreeArchive,
  { base, keepOwner, signal }: UnpackOptions,
): Promise<boolean> {
  const directory = base.startsWith('/') ? base : `./${base}`;
  const letters = keepOwner ? '-xpf' : '-xpof';
  const words = ['sh', '-c', unpacking, 'sh', directory, archive.control.toString(), letters];
  const output = new AwaitedGreeting();
  const exit = await node
    .exec(`exec ${commandLine(words)}`, output, { stdin: bytesOf(archive, output.greeted), commandTimeout: 0, signal })
    .finally(() => output.end());
  if (exit.code === withoutTar || !(await output.greeted)) return false;
  if (exit.code !== 0) throw failure(exit, output.errors, archive.size);
  return true;
}

async function* bytesOf(archive: TreeArchive, greeted: Promise<boolean>): AsyncIterable<Buffer> {
  if (!(await greeted)) return;
  for (let index = 0; index < archive.pieces; index++) yield await archive.piece(index);
}

/** Keeps what is said until the greeting has come, and errors. */
class AwaitedGreeting implements Output {
  readonly greeted: Promise<boolean>;
  readonly #kept = new CollectedOutput(keptOutput);
  #settle: (greeted: boolean) => void = () => undefined;

  constructor() {
    this.greeted = new Promise((resolve) => (this.#settle = resolve));
  }

  get errors(): string {
    return this.#kept.text('stderr');
  }

  stdout(chunk: Buffer): void {
    this.#kept.stdout(chunk);
    // Start-up files may have printed something before.
    if (this.#kept.text('stdout').split('\n').slice(0, -1).includes(greeting)) this.#settle(true);
  }

  stderr(chunk: Buffer): void {
    this.#kept.stderr(chunk);
  }

  end(): void {
    this.#settle(false);
  }
}

function failure({ code, signal }: Exit, errors: string, size: number): Fault {
  if (errors.includes('No space left on device'))
    return new Fault('invalid', `the files could not be written: the disk is full; they have ${size} bytes.`);
  const lines = errors.split('\n').filter((line) => line.trim() !== '');
  const end = code === undefined ? `was ended by ${signal ?? 'a signal'}` : `exited with code ${code}`;
  const said = lines.length === 0 ? `unpacking them ${end}` : lines.slice(0, 3).join(' / ').slice(0, 500);
  return new Fault('invalid', `the files could not all be put in their place: ${said}.`);
}
