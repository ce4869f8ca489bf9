import { isUtf8 } from 'node:buffer';
import { Fault } from '../../core/errors.ts';
import type { SecretBox } from '../../access/secrets.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { ImagePaths } from '../../images/index.ts';
import { overlayArchive } from './overlay-archive.ts';
import { OverlayLoops } from './overlay-loops.ts';
import { overlayNames, overlaySources } from './overlay-sources.ts';
import { namesSecret, type Rendering, renderTemplate } from './overlay-template.ts';
import { barredEntries, bounds, type OverlayEntry, overlayTree } from './overlay-tree.ts';

/** The files that nodes have of their own, made from directories of files and templates. */
export class Overlays {
  readonly #paths: ImagePaths;
  readonly #box: Pick<SecretBox, 'open'>;

  constructor(paths: ImagePaths, box: Pick<SecretBox, 'open'>) {
    this.#paths = paths;
    this.#box = box;
  }

  /** Whether the node has any. */
  has(snapshot: Snapshot, node: string): boolean {
    return overlayNames(effectiveReader(snapshot), node).length > 0;
  }

  /**
   * All that the node gets, with its secrets: for that node alone. A comparison shows lines of what all users of the node can read, and
   * of templates only to whoever sees all nodes, since they may name any.
   */
  async archive(snapshot: Snapshot, node: string, { seesAll = true } = {}): Promise<Buffer> {
    const entries = await this.#made(snapshot, node, { open: (sealed, column) => this.#box.open(sealed, column) });
    const barred = barredEntries(entries);
    const isShown = (entry: OverlayEntry): boolean =>
      !barred.has(entry) && !entry.hasSecret && (seesAll || !entry.isTemplate);
    return overlayArchive(entries, isShown);
  }

  /** The same for somebody who looks at it: secrets are hidden, and nodes that the caller may not know of are left out. */
  shown(snapshot: Snapshot, node: string, sees: Rendering['sees']): Promise<OverlayEntry[]> {
    return this.#made(snapshot, node, { sees });
  }

  async #made(snapshot: Snapshot, node: string, how: Pick<Rendering, 'open' | 'sees'>): Promise<OverlayEntry[]> {
    const reader = effectiveReader(snapshot);
    const rendering = { ...how, reader, node, installdir: this.#paths.installDirectory(snapshot) };
    const loops = new OverlayLoops(rendering);
    const entries: OverlayEntry[] = [];
    let size = 0;
    for (const entry of await overlayTree(overlaySources(reader, this.#paths, node))) {
      const made = entry.isTemplate ? await rendered(entry, rendering, loops) : entry;
      size += made.content.length;
      if (size > bounds.bytes)
        throw new Fault('invalid', `The overlays of ${node} would have more than ${bounds.bytes} bytes together.`);
      entries.push(made);
    }
    return entries;
  }
}

async function rendered(entry: OverlayEntry, rendering: Rendering, loops: OverlayLoops): Promise<OverlayEntry> {
  if (!isUtf8(entry.content))
    throw new Fault('invalid', `${entry.from} is a template (.tmpl) and not UTF-8 text; rename it or convert it.`);
  const text = entry.content.toString();
  if (namesSecret(text) && !entry.isRoots)
    throw new Fault(
      'invalid',
      `${entry.from} asks for a secret, but others than root can change this file or a directory above it. Make them root's alone: chown root, chmod go-w.`,
    );
  return {
    ...entry,
    content: Buffer.from(await renderTemplate(text, entry, rendering, loops)),
    hasSecret: namesSecret(text),
  };
}
