import type { ChangeSet } from '../../database/database.ts';

/** When nodes were made: one that had the same name before was another. */
export class NodeLives {
  readonly #made = new Map<string, number>();

  note({ changes, sequence }: ChangeSet): void {
    for (const [node, before, after] of changes['nodelist'] ?? []) {
      if (before === null) this.#made.set(node, sequence);
      else if (after === null) this.#made.delete(node);
    }
  }

  /** Whether what had the name then is not what has it now. */
  wasOther(name: string, sequence: number): boolean {
    return (this.#made.get(name) ?? 0) > sequence;
  }
}
