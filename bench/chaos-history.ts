/** A client has asked a server to write a value, which nobody else writes, to a node. */
export interface Write {
  readonly node: string;
  readonly value: string;
  /** Milliseconds, by one clock for all clients. */
  readonly began: number;
  readonly ended: number;
  /** `refused`: the reply says that nothing was done. `unknown`: it may have happened, or not; and stays so. */
  readonly outcome: 'acknowledged' | 'refused' | 'unknown';
  /** Of what is acknowledged: the revision of the database that it made. */
  readonly revision?: number;
}

/** A server has shown the value of a node. */
export interface Read {
  readonly node: string;
  readonly value: string;
  /** The revision that it says it shows, and the one that it was asked to show at least. */
  readonly revision: number;
  readonly asked: number;
}

/** What every node has before the first write. */
export const initialValue = '';

/**
 * Says where a history is none that one database, which does one thing after another, could have: revisions order all writes, each
 * within the time in which it was asked for, and what is read at a revision is what the last write up to it has left.
 */
export function violationsOf(writes: readonly Write[], reads: readonly Read[]): string[] {
  const byNode = Map.groupBy(writes, ({ node }) => node);
  const readsOf = Map.groupBy(reads, ({ node }) => node);
  const nodes = new Set([...byNode.keys(), ...readsOf.keys()]);
  return [
    ...outOfOrder(writes),
    ...[...nodes].flatMap((node) => new Register(node, byNode.get(node) ?? [], writes).check(readsOf.get(node) ?? [])),
  ];
}

type Acknowledged = Write & { readonly revision: number };

const acknowledged = (writes: readonly Write[]): Acknowledged[] =>
  writes.filter((write): write is Acknowledged => write.outcome === 'acknowledged' && write.revision !== undefined);

/** Writes that have ended before another began have earlier revisions. */
function outOfOrder(writes: readonly Write[]): string[] {
  const found: string[] = [];
  const byRevision = acknowledged(writes).toSorted((a, b) => a.revision - b.revision);
  let latest: Acknowledged | undefined;
  for (const write of byRevision) {
    if (latest && write.ended < latest.began)
      found.push(`${shown(write)} had ended before ${shown(latest)} began, which has an earlier revision`);
    if (!latest || write.began > latest.began) latest = write;
  }
  for (const [revision, same] of Map.groupBy(byRevision, (write) => write.revision))
    if (same.length > 1) found.push(`revision ${revision} was given to ${same.map(shown).join(' and ')}`);
  return found;
}

const shown = ({ node, value, revision }: Write): string => `${node}=${value} (${revision ?? 'no revision'})`;

/** Revisions after the first up to the second. */
type Span = readonly [after: number, until: number];

/** What is known of a write that may have happened. */
interface Doubt {
  /** Where reads that show it place it. */
  readonly within: Span[];
  readonly seen: Read[];
}

/** The value of one node over time. */
class Register {
  readonly #node: string;
  readonly #writes: ReadonlyMap<string, Write>;
  readonly #known: readonly Acknowledged[];
  readonly #all: readonly Acknowledged[];

  constructor(node: string, writes: readonly Write[], all: readonly Write[]) {
    this.#node = node;
    this.#writes = new Map(writes.map((write) => [write.value, write]));
    this.#known = acknowledged(writes).toSorted((a, b) => a.revision - b.revision);
    this.#all = acknowledged(all);
  }

  check(reads: readonly Read[]): string[] {
    const found: string[] = [];
    const doubts = new Map<string, Doubt>();
    /** Where no other write of the node can be: between the one that a read shows and that read. */
    const quiet: Span[] = [];
    for (const read of reads) {
      const { value, revision, asked } = read;
      const complain = (text: string): unknown =>
        found.push(`${this.#node} at revision ${revision} (asked for ${asked}) is "${value}": ${text}`);
      if (revision < asked) complain('the revision is older than the one that was asked for');
      const last = this.#known.findLast((write) => write.revision <= revision);
      const write = this.#writes.get(value);
      if (value === (last?.value ?? initialValue)) quiet.push([last?.revision ?? 0, revision]);
      else if (!write) complain('nobody has written that, or it is overwritten');
      else if (write.outcome === 'refused') complain('the reply to that write said that nothing was done');
      else if (write.outcome === 'acknowledged')
        complain(`that has revision ${write.revision}, and ${last ? shown(last) : 'nothing'} is the last one`);
      else {
        const doubt = doubts.get(value) ?? { within: [], seen: [] };
        doubts.set(value, doubt);
        doubt.within.push([last?.revision ?? 0, revision]);
        doubt.seen.push(read);
      }
    }
    for (const [value, doubt] of doubts)
      if (!this.#hasPlace(this.#writes.get(value)!, doubt, quiet))
        found.push(
          `${this.#node}: "${value}" is shown at ${doubt.seen.map(({ revision }) => revision).join(', ')}, and not in between`,
        );
    return found;
  }

  /** Whether there is a revision that a write without an answer can have. */
  #hasPlace({ began }: Write, { within }: Doubt, quiet: readonly Span[]): boolean {
    // It cannot be older than what was acknowledged before anybody asked for it.
    const before = this.#all.reduce(
      (latest, { ended, revision }) => (ended < began ? Math.max(latest, revision) : latest),
      0,
    );
    const after = Math.max(before, ...within.map(([start]) => start));
    const until = Math.min(...within.map(([, end]) => end));
    const candidates = [after + 1, ...quiet.map(([, end]) => end + 1)];
    return candidates.some(
      (place) => place > after && place <= until && !quiet.some(([start, end]) => place > start && place <= end),
    );
  }
}
