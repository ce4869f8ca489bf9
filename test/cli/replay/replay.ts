import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Case, casesOf, type Collection, decided, type Effects, otherwiseOf } from './cases.ts';
import { mismatch } from './compare.ts';
import type { Answer, Request } from './world.ts';

/** Of each command the first case, and then one of so many, is a process of its own, as a user has it. */
const apartEvery = 16;

const checkout = join(import.meta.dirname, '../../..');

/** A process in the namespaces of the recorded machine; cases are run there one after the other. */
class Replayer {
  readonly #directory = mkdtempSync(join(tmpdir(), 'mw-'));
  readonly #child: ChildProcess;
  readonly #gone: Promise<never>;
  #output = '';

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'world.ts'), {
      cwd: checkout,
      execPath: 'unshare',
      execArgv: [
        '--mount',
        '--net',
        '--uts',
        '--propagation',
        'private',
        join(import.meta.dirname, 'world.sh'),
        this.#directory,
        process.execPath,
      ],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#gone = once(this.#child, 'exit').then(() => {
      throw new Error(`The place of the cases is gone:\n${this.#output}`);
    });
    // Whoever waits for an answer hears of it; at the end nobody does.
    this.#gone.catch(() => undefined);
  }

  async #next(): Promise<Answer> {
    return Promise.race([once(this.#child, 'message').then(([answer]) => answer as Answer), this.#gone]);
  }

  async ready(): Promise<void> {
    await this.#next();
  }

  async replay(recorded: Case, apart: boolean): Promise<Effects> {
    this.#child.send({ replay: recorded, apart } satisfies Request);
    const answer = await this.#next();
    if (typeof answer === 'string') throw new Error(`An answer to nothing: ${answer}`);
    if ('failure' in answer) throw new Error(answer.failure);
    return answer.effects;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      if (this.#child.connected) this.#child.send('stop' satisfies Request);
      await ended;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

const grouped = (cases: readonly Case[]): Map<string, Case[]> => {
  const groups = new Map<string, Case[]>();
  // What needs the daemons comes last: they stay.
  const ordered = [false, true].flatMap((late) => cases.filter(({ needs = [] }) => needs.includes('dhcp') === late));
  for (const each of ordered) groups.set(each.argv[0]!, [...(groups.get(each.argv[0]!) ?? []), each]);
  return groups;
};

/** Replays the recorded cases of a collection. Those that are decided otherwise must differ from the recording, and be as decided. */
export function replayCollection(collection: Collection): void {
  const otherwise = new Map(otherwiseOf(collection).map((each) => [each.id, each]));
  let replayer: Replayer;
  beforeAll(async () => {
    replayer = new Replayer();
    await replayer.ready();
  }, 120_000);
  afterAll(() => replayer.stop(), 60_000);

  const cases = casesOf(collection);
  it('has only decisions about cases that there are, each with its reason', () => {
    const known = new Set(cases.map(({ id }) => id));
    expect([...otherwise.keys()].filter((id) => !known.has(id))).toEqual([]);
    expect([...otherwise.values()].filter(({ reason }) => !/\w+ \w+/.test(reason))).toEqual([]);
    expect(otherwise.size).toBe(otherwiseOf(collection).length);
  });

  for (const [command, each] of grouped(cases))
    describe(command, { timeout: 120_000 }, () => {
      it.each(each.map((recorded, index) => [`${recorded.id}: ${recorded.argv.join(' ')}`, recorded, index] as const))(
        '%s',
        async (_name, recorded, index) => {
          const decision = otherwise.get(recorded.id);
          const expected = decision ? decided(recorded, decision) : recorded;
          const effects = await replayer.replay(expected, index % apartEvery === 0);
          const wrong = mismatch(expected, effects);
          expect(wrong, wrong).toBeUndefined();
          if (decision)
            expect(mismatch(recorded, await afterwards(recorded, effects)), 'nothing differs').toBeDefined();
        },
      );
    });

  /** What is asked afterwards may be decided otherwise too; then the recorded questions have no answers. */
  const afterwards = async (recorded: Case, effects: Effects): Promise<Effects> =>
    (recorded.after?.length ?? 0) === (effects.after?.length ?? 0) ? effects : replayer.replay(recorded, false);
}
