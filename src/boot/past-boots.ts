import type { BootHistoryFile } from './boot-history-file.ts';
import type { Boot, BootNote } from './reports.ts';

/** A boot that is over, or several that came to the same end one after another. */
export interface PastBoot {
  readonly began: Date;
  /** Of the last of them, as all that follows. */
  readonly ended: Date;
  readonly times: number;
  /** Its steps, each once. */
  readonly steps: string;
  /** The last step, and what was said of it. */
  readonly end: string;
  readonly cause: string | undefined;
}

const mostBoots = 10;

/** The last boots of nodes. Since a node may start over and over, boots with the same end count as one, which keeps when that began. */
export class PastBoots {
  readonly #boots = new Map<string, PastBoot[]>();
  /** Present boots that have come to an end, as far as is known. */
  readonly #ending = new Map<string, PastBoot>();
  /** Thousands of nodes go through the same steps. */
  readonly #texts = new Map<string, string>();
  #file: BootHistoryFile | undefined;

  /** Takes up what was written before, of the nodes that there still are, and writes all that follows. */
  open(file: BootHistoryFile, exists: (node: string) => boolean): void {
    const found = file.read();
    for (const { node, boot } of found) {
      if (!boot) this.#boots.delete(node);
      else if (exists(node)) this.#put(node, boot);
    }
    this.#file = file;
    if (found.length > 0) file.rewrite(this.#all());
  }

  /** Another one has begun. */
  add(node: string, boot: Boot): void {
    const past = this.#pastOf(node, boot);
    if (!past) return;
    this.#put(node, past);
    this.#ending.delete(node);
    this.#write(node, past);
  }

  /** The boot may go on, but a restart of muster is not to lose it. */
  keep(node: string, boot: Boot): void {
    const past = this.#pastOf(node, boot);
    if (!past) return;
    this.#ending.set(node, past);
    this.#write(node, past);
  }

  forget(node: string): void {
    const wasKnown = this.#boots.delete(node);
    if (this.#ending.delete(node) || wasKnown) this.#file?.writeForgotten(node);
  }

  rename(from: string, to: string): void {
    move(this.#boots, from, to);
    move(this.#ending, from, to);
    this.#file?.writeForgotten(from);
    for (const boot of this.of(to)) this.#write(to, boot);
    const ending = this.#ending.get(to);
    if (ending) this.#write(to, ending);
  }

  /** The oldest first. */
  of(node: string): readonly PastBoot[] {
    return this.#boots.get(node) ?? [];
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #pastOf(node: string, boot: Boot): PastBoot | undefined {
    const { began, notes } = boot;
    const last = notes.at(-1);
    if (!last) return undefined;
    const steps = this.#once([...new Set(notes.map(({ step }) => step))].join(', '));
    const past = { began, ended: last.at, times: 1, steps, end: last.step, cause: causeOf(boot, last) };
    const before = this.#boots.get(node)?.at(-1);
    if (before?.end !== past.end || before.cause !== past.cause) return past;
    return { ...before, ended: past.ended, times: before.times + 1 };
  }

  #put(node: string, past: PastBoot): void {
    const list = this.#boots.get(node) ?? [];
    if (list.at(-1)?.began.getTime() === past.began.getTime()) list.pop();
    list.push({ ...past, steps: this.#once(past.steps) });
    if (list.length > mostBoots) list.shift();
    this.#boots.set(node, list);
  }

  #write(node: string, past: PastBoot): void {
    this.#file?.write(node, past);
    if (this.#file?.isLong(this.#boots.size * mostBoots)) this.#file.rewrite(this.#all());
  }

  *#all(): Iterable<readonly [node: string, boot: PastBoot]> {
    for (const [node, list] of this.#boots) for (const boot of list) yield [node, boot];
    yield* this.#ending;
  }

  #once(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }
}

/** Gives what is kept under one name another one. */
export function move<V>(kept: Map<string, V>, from: string, to: string): void {
  const value = kept.get(from);
  if (value === undefined) return;
  kept.delete(from);
  kept.set(to, value);
}

/** Why it ended there, where something says so. */
function causeOf(boot: Boot, { step, leadsTo, text }: BootNote): string | undefined {
  if (step !== 'failed' && leadsTo !== 'failed') return undefined;
  return (step === 'failed' ? failureOf(boot) : text) ?? 'it did not say why';
}

/** Why a boot failed: what it reported first of all that it reported of it. An installer that stops says so itself after our scripts. */
export function failureOf({ notes }: Boot): string | undefined {
  const reported = notes.filter(({ source }) => source === 'report');
  const before = reported.findLastIndex(({ step }) => step !== 'failed');
  return reported[before + 1]?.text;
}
