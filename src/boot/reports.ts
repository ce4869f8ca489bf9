import type { News } from '../database/news.ts';
import type { NodeStatus } from '../nodes/index.ts';
import { move, PastBoots } from './past-boots.ts';

/** What a node itself reports of its boot. */
export const reportSteps = [
  'initramfs',
  'fetching',
  'fetched',
  'writing',
  'written',
  'installing',
  'installed',
  'booting',
  'postscripts',
  'booted',
  'failed',
] as const;
export type ReportStep = (typeof reportSteps)[number];

/** What was seen of it from here: requests for files. */
export type SeenStep =
  | 'loader'
  | 'script'
  | 'kernel'
  | 'initrd'
  | 'root'
  | 'answer'
  | 'bundle'
  | 'plan'
  | 'overlay'
  | 'file';

export type BootStep = ReportStep | SeenStep;

/** `media`: it stands on what its BMC shows it. */
export type BootSource = 'tftp' | 'http' | 'report' | 'media';

export interface BootNote {
  readonly step: BootStep;
  readonly text?: string | undefined;
  readonly at: Date;
  readonly source: BootSource;
  /** Of a fetched file: what was sent, and whether that was all. */
  readonly bytes?: number | undefined;
  readonly complete?: boolean | undefined;
  /** Of a script: what it makes the node do, in the words of `status`. */
  readonly leadsTo?: BootStatus | undefined;
}

export type BootStatus = 'installing' | 'netbooting' | 'booting' | 'booted' | 'failed';

/** The present boot of a node, or its last one. */
export interface Boot {
  readonly began: Date;
  readonly notes: readonly BootNote[];
  /** The last line the node sent. */
  readonly lastLine: string | undefined;
}

/** Somebody who asked for the boot script of a node from an address that is not the node's. */
export interface ForeignClient {
  readonly address: string;
  readonly at: Date;
}

type Listener = (node: string, note: BootNote) => void;

/** What begins a boot: after anything else it is another one. */
const beginnings: ReadonlySet<string> = new Set(['loader', 'script'] satisfies SeenStep[]);
const mostNotes = 256;
/** Left out of the middle at a time. */
const notesCut = 64;

const statusOf: Partial<Record<ReportStep, BootStatus>> = {
  writing: 'installing',
  installing: 'installing',
  installed: 'booting',
  booting: 'booting',
  postscripts: 'booting',
  booted: 'booted',
  failed: 'failed',
};

const statusAfter = ({ leadsTo, step }: BootNote): BootStatus | undefined => leadsTo ?? statusOf[step as ReportStep];

const topic = 'boot';

interface NewsOfBoot {
  readonly node: string;
  readonly note: Omit<BootNote, 'at'> & { readonly at: string };
}

interface KeptBoot extends Boot {
  readonly notes: BootNote[];
  lastLine: string | undefined;
  /** Whether there was more than its beginning. */
  hasGoneOn: boolean;
}

/** Keeps what nodes do while they boot: what they fetch, and what they report. */
export class BootReports {
  readonly #status: Pick<NodeStatus, 'note'>;
  /** Other servers, whose listeners a node may go on with. */
  readonly #news: News | undefined;
  readonly #boots = new Map<string, KeptBoot>();
  readonly #foreign = new Map<string, ForeignClient>();
  readonly #listeners = new Set<Listener>();
  readonly past = new PastBoots();
  /** What came before is not known. */
  readonly since = new Date();

  constructor(status: Pick<NodeStatus, 'note'>, news?: News) {
    this.#status = status;
    this.#news = news;
    news?.hear<NewsOfBoot>(topic, ({ node, note }) => this.#keep(node, { ...note, at: new Date(note.at) }));
  }

  note(node: string, note: BootNote): void {
    const status = statusAfter(note);
    if (status) this.#status.note(node, status);
    // Installers fetch thousands of files.
    if (note.step !== 'file') this.#news?.tell(topic, { node, note });
    this.#keep(node, note);
  }

  #keep(node: string, note: BootNote): void {
    let boot = this.#boots.get(node);
    const begins = beginnings.has(note.step);
    if (!boot || (begins && boot.hasGoneOn)) {
      if (boot) this.past.add(node, boot);
      boot = { began: note.at, notes: [], lastLine: undefined, hasGoneOn: false };
      this.#boots.set(node, boot);
    }
    if (!begins) boot.hasGoneOn = true;
    boot.notes.push(note);
    // A node that goes on and on, such as an installer with its packages, keeps its beginning and its end.
    if (boot.notes.length > mostNotes + notesCut) boot.notes.splice(mostNotes / 2, notesCut);
    if (note.source === 'report') boot.lastLine = note.text ? `${note.step} ${note.text}` : note.step;
    const status = statusAfter(note);
    if (status === 'booted' || status === 'failed') this.past.keep(node, boot);
    for (const listener of this.#listeners) listener(node, note);
  }

  /** It may be the node with a wrong address, or anybody: people see it, and it changes nothing. */
  noteForeign(node: string, client: ForeignClient): void {
    this.#foreign.set(node, client);
  }

  /** The last of them. */
  foreignOf(node: string): ForeignClient | undefined {
    return this.#foreign.get(node);
  }

  /** What a node did goes with it; one that gets its name later has done nothing. */
  forget(node: string): void {
    this.#boots.delete(node);
    this.#foreign.delete(node);
    this.past.forget(node);
  }

  rename(from: string, to: string): void {
    move(this.#boots, from, to);
    move(this.#foreign, from, to);
    this.past.rename(from, to);
  }

  /** What is under way is past for the muster that is started next. */
  async close(): Promise<void> {
    for (const [node, boot] of this.#boots) this.past.keep(node, boot);
    await this.past.close();
  }

  of(node: string): Boot | undefined {
    return this.#boots.get(node);
  }

  /** Calls the listener with every note. Returns what ends that. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
