import type { Answer, Ranges } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import { mapInSlices } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { allNodes } from '../objects/groups.ts';
import type { BootServer } from '../boot/index.ts';

const hint = 'Something of a node that you may not know of stands in the way; ask somebody who has rights on it.';

/**
 * Acts for the whole cluster report whatever they meet, such as a node with the same address. Callers who may not know of the node do
 * not get messages about it, and a hint instead of sentences about it.
 */
export async function redacted(
  snapshot: Snapshot,
  { ranges: { sees } }: Ranges,
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (!sees) return work();
  let unseen: ReadonlySet<string> | undefined;
  const isAboutUnseen = (text: string): boolean => {
    unseen ??= new Set(allNodes(snapshot).flatMap((node) => (sees(node) ? [] : node.toLowerCase())));
    return namesIn(text.toLowerCase()).some((name) => unseen!.has(name));
  };
  try {
    const answer = await work();
    if (!('messages' in answer)) return answer;
    const seen = async (texts: readonly string[] = []): Promise<string[]> =>
      (await mapInSlices(texts, (text) => (isAboutUnseen(text) ? [] : [text]))).flat();
    const notes = answer.notes === undefined ? {} : { notes: await seen(answer.notes) };
    return { ...answer, messages: await seen(answer.messages), ...notes };
  } catch (error) {
    if (!(error instanceof Fault) || !error.sentences.some(isAboutUnseen)) throw error;
    const sentences = [...new Set(error.sentences.map((text) => (isAboutUnseen(text) ? hint : text)))];
    const { kind, retryAfter } = error;
    throw new Fault(kind, sentences, { cause: error, ...(retryAfter === undefined ? {} : { retryAfter }) });
  }
}

/** IPv4 and IPv6 addresses, and a few texts that look like them. */
const addressShape = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}|(?<![\da-f:])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}/gi;

/** A node may fail because of another on the way to it, such as its hypervisor; whoever may not know of that one does not get its address. */
export function redactedFailure({ ranges: { sees } }: Ranges, boot: Pick<BootServer, 'index'>, text: string): string {
  if (!sees) return text;
  return text.replaceAll(addressShape, (address) => {
    const node = boot.index.byAddress(address);
    return node === undefined || sees(node) ? address : '(hidden address)';
  });
}

/** What may be the name of a node in a text: names of interfaces have something before or behind it, set off by "-". */
function namesIn(text: string): string[] {
  return text.split(/[^a-z0-9_-]+/).flatMap((word) => {
    const parts = word.split('-');
    return parts.flatMap((_, i) => [parts.slice(0, i + 1).join('-'), parts.slice(i).join('-')]);
  });
}
