import { Fault } from '../core/errors.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import type { NodeImage } from '../objects/node-image.ts';

const parameterTable = tableNamed('bootparams');
/** Words by which muster says what the RAM disk does. The last one counts, so none may follow. Whoever looks for a fault asks for a shell. */
const reserved = /^(muster\.(?!shell$)|imgurl=|imgsum=|destiny=)/;

/** iPXE would put settings of its own there, and one that is empty hides what comes behind it. `memmap=8G$4G` has no brace. */
const expanded = '${';

/** What node and image add to the kernel's command line, in this order. */
export function addedArguments(reader: EffectiveReader, node: string, image?: NodeImage): string[] {
  const problem = addedProblem(reader, node, image);
  if (problem !== undefined) throw new Fault('invalid', problem);
  return textsOf(reader, node, image).map(({ text }) => text);
}

/** Why they cannot be added: they would undo what nodeset decided. */
export function addedProblem(reader: EffectiveReader, node: string, image?: NodeImage): string | undefined {
  for (const { text, owner } of textsOf(reader, node, image)) {
    const words = text.split(/\s+/);
    const variable = words.find((each) => each.includes(expanded));
    if (variable !== undefined)
      return `The attribute addkcmdline of ${owner} has ${expanded} in the word ${JSON.stringify(variable)}, which a boot loader would replace by something else: take it out.`;
    const word = words.find((each) => reserved.test(each));
    if (word !== undefined)
      return `The attribute addkcmdline of ${owner} has the word ${JSON.stringify(word)}, which only muster itself may write: take it out. What a node boots, and to which disk, is decided by nodeset and osvolume.`;
  }
  return undefined;
}

const textsOf = (reader: EffectiveReader, node: string, image: NodeImage | undefined) =>
  [
    { owner: `the node ${node}`, text: reader.row(parameterTable, node)?.['addkcmdline'] ?? '' },
    { owner: `the image ${image?.name}`, text: image?.attribute('addkcmdline') ?? '' },
  ].filter(({ text }) => text !== '');
