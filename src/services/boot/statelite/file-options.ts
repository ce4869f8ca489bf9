import { Fault } from '../../../core/errors.ts';

/** What the options of a row of `litefile` come to. */
export interface FileWay {
  /** `bind`: mounted over the path; `link`: the path is a link to it. */
  readonly place: 'bind' | 'link';
  /**
   * `memory`: a copy that ends with the boot. `state`: kept in the node's state. `tree`: what is in a litetree directory itself, read-only.
   * `joined`: the image's file and those of all litetree directories one after another, in memory.
   */
  readonly content: 'memory' | 'state' | 'tree' | 'joined';
}

const contents: Readonly<Record<string, FileWay['content']>> = {
  tmpfs: 'memory',
  persistent: 'state',
  ro: 'tree',
  con: 'joined',
};
/** Words that say where it is put; `rw` says nothing that the others do not. */
const places = new Set(['bind', 'link', 'rw']);

/** Reads `options` of a row; none are `tmpfs`. `where` names the row. */
export function fileWay(options: string | undefined, where: string): FileWay {
  const words = new Set((options ?? '').split(',').flatMap((word) => word.trim().toLowerCase() || []));
  for (const word of words)
    if (!places.has(word) && !Object.hasOwn(contents, word))
      throw new Fault(
        'invalid',
        `${where}: there is no option ${JSON.stringify(word)}; there are tmpfs (or rw), persistent, ro and con, each also with link or bind.${
          word === 'localdisk' ? ' Files on a disk of the node are persistent, with the disk as statemnt.' : ''
        }`,
      );
  const named = Object.keys(contents).filter((word) => words.has(word));
  // What is joined is in memory anyway.
  const [first = 'tmpfs', second] = words.has('con') ? named.filter((word) => word !== 'tmpfs') : named;
  const contrary = second ?? (first === 'ro' && words.has('rw') ? 'rw' : undefined);
  if (contrary !== undefined) throw contradiction(first, contrary, where);
  if (words.has('link') && words.has('bind')) throw contradiction('link', 'bind', where);
  return { place: words.has('link') ? 'link' : 'bind', content: contents[first]! };
}

const contradiction = (one: string, other: string, where: string): Fault =>
  new Fault('invalid', `${where}: the options ${one} and ${other} contradict each other; leave one of them out.`);
