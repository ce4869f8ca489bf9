import type { Snapshot } from '../database/snapshot.ts';
import { affectedNodes } from './catalog.ts';
import { type EffectiveReader, effectiveReader } from './effective.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Finds nodes by their marks: texts made of what is defined of them, such as a MAC address. Only nodes that differ from the snapshot
 * that was looked at last are looked at again.
 */
export class NodeMarks {
  readonly #marksOf: (reader: EffectiveReader, node: string) => Iterable<string>;
  readonly #marks = new Map<string, ReadonlySet<string>>();
  readonly #nodes = new Map<string, readonly string[]>();
  #snapshot: Snapshot | undefined;

  constructor(marksOf: (reader: EffectiveReader, node: string) => Iterable<string>) {
    this.#marksOf = marksOf;
  }

  /** Those that have the mark. */
  nodes(snapshot: Snapshot, mark: string): readonly string[] {
    this.#advance(snapshot);
    return this.#nodes.get(mark) ?? [];
  }

  /** What the node has. */
  of(snapshot: Snapshot, node: string): ReadonlySet<string> {
    this.#advance(snapshot);
    return this.#marks.get(node) ?? none;
  }

  #advance(snapshot: Snapshot): void {
    const before = this.#snapshot;
    if (before === snapshot) return;
    this.#snapshot = snapshot;
    const affected = before ? affectedNodes(before, snapshot) : 'all';
    const reader = effectiveReader(snapshot);
    const nodes = affected === 'all' ? new Set([...this.#marks.keys(), ...snapshot.rows('nodelist').keys()]) : affected;
    for (const node of nodes) this.#put(node, new Set(reader.nodeRow(node) ? this.#marksOf(reader, node) : []));
  }

  #put(node: string, marks: ReadonlySet<string>): void {
    const old = this.#marks.get(node) ?? new Set();
    for (const mark of old.difference(marks)) {
      const left = this.#nodes.get(mark)!.filter((each) => each !== node);
      if (left.length > 0) this.#nodes.set(mark, left);
      else this.#nodes.delete(mark);
    }
    for (const mark of marks.difference(old)) this.#nodes.set(mark, [...(this.#nodes.get(mark) ?? []), node]);
    if (marks.size > 0) this.#marks.set(node, marks);
    else this.#marks.delete(node);
  }
}
