import { readFileSync } from 'node:fs';
import { overlayScript } from '../../core/home.ts';
import { tarEnd, tarHeader, tarPadding } from '../../core/tar/write.ts';
import type { OverlayEntry } from './overlay-tree.ts';

/**
 * What a node unpacks: the script `place`, its `plan`, and the contents by their numbers in it. The script goes with each archive, so that
 * an initial RAM disk that was built long ago does what this muster means. It says how a line of the plan looks. Of what `isShown`, a
 * comparison prints the lines that differ.
 */
export function overlayArchive(entries: readonly OverlayEntry[], isShown: (entry: OverlayEntry) => boolean): Buffer {
  const plan = entries.map((entry, number) => {
    const { kind, mode, uid, gid, path } = entry;
    return [kind, number, mode.toString(8), `${uid}:${gid}`, isShown(entry) ? 'open' : 'closed', path].join(' ');
  });
  const pieces = [
    ...member('place', readFileSync(overlayScript)),
    ...member('plan', Buffer.from(plan.map((line) => `${line}\n`).join(''))),
    ...entries.flatMap(({ kind, content }, number) => (kind === 'directory' ? [] : member(`${number}`, content))),
    tarEnd(),
  ];
  return Buffer.concat(pieces);
}

/** Only root unpacks it, and nobody else shall read it meanwhile. */
const member = (name: string, content: Buffer): Buffer[] => [
  tarHeader({ name, size: content.length, mode: 0o600, time: 0 }),
  content,
  tarPadding(content.length),
];
