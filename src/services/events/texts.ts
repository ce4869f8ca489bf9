import type { Entry } from './entries.ts';
import { eventId, type Position } from './event-id.ts';
import type { NodeLives } from './node-lives.ts';
import type { Test, Told, View } from './view.ts';

export const lostSome =
  'muster was started anew or it was too long ago: runs, power states and notices since your last event are not known. Changes and status follow.';
export const lostAll =
  'What happened since your last event is no longer known as a whole. Read anew what you keep; events go on from here.';
export const wentWrong = 'Something went wrong inside muster; connect again.';

export const block = (kind: string, data: string, position?: Position): string =>
  `${position ? `id: ${eventId(position)}\n` : ''}event: ${kind}\ndata: ${data}\n\n`;

export const gapData = (message: string): string => JSON.stringify({ kind: 'gap', message });
export const gapText = (message: string): string => block('gap', gapData(message));

/** The last that somebody is told. */
export const dropText = (message: string): Buffer =>
  Buffer.from(block('dropped', JSON.stringify({ kind: 'dropped', message })));

/** Only the last event of what happened together has an id: who is cut off in between is told all of it again. */
export const textOf = (told: readonly Told[], position: Position): string =>
  told.map(({ kind, data }, i) => block(kind, data, i === told.length - 1 ? position : undefined)).join('');

/** Characters that are sent in one go. */
const chunkSize = 65_536;

/** Of which names is not told what happened then: of those that are others' today. */
export const earlierTest = (view: View, sequence: number, ...lives: readonly NodeLives[]): Test | undefined =>
  view.isLimited ? (name) => lives.some((each) => each.wasOther(name, sequence)) : undefined;

export function* textsOf(view: View, entries: readonly Entry[], lives: NodeLives): Iterable<Buffer> {
  let text = '';
  for (const { happening, position } of entries) {
    text += textOf(view.tell(happening, earlierTest(view, position.sequence, lives)), position);
    if (text.length < chunkSize) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
