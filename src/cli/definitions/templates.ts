import type { Client } from '../client.ts';
import type { Invocation } from '../command.ts';
import { writeData } from '../formats.ts';
import { errorLine, resultLine } from '../lines.ts';
import { writtenName } from '../options.ts';
import { type DefinitionCall, Wrong } from './arguments.ts';
import { type Attributes, readNames } from './reading.ts';
import { chosenAttributes, noneOfType, stanzaHead, texts } from './showing.ts';

/** `lsdef --template`: names of the templates that come with muster, or the attributes of one. They are for nodes. */
export async function listTemplates(call: DefinitionCall, invocation: Invocation): Promise<number> {
  const { options: given, types, names } = call;
  const { client, stdout, stderr, env } = invocation;
  const other = ['w', 'S', 'nics', 'fold'].find((name) => given.has(name));
  if (other !== undefined)
    throw new Wrong(`The flags '${writtenName(other)}' and '--template' cannot be used together.`, true);
  if (given.value('template') && names !== undefined)
    throw new Wrong(`lsdef shows a template or objects: leave "${names}" or the option --template out.`, true);
  const template = given.value('template') || names;
  const known = await templatesOf(client, types);
  if (template !== undefined && !known.includes(template)) {
    stderr.line(errorLine(`Could not find ${template} in xCAT templates.`, client.server));
    return 1;
  }
  const show = (text: string) => resultLine(text, { env, server: client.server });
  if (known.length === 0) stdout.line(show(noneOfType));
  const shown = template === undefined ? known : [template];
  const isLong = template !== undefined || given.flag('long') || given.flag('stanza') || given.has('i');
  const { format } = given.common;
  if (given.flag('short') || !isLong) {
    if (format)
      return writeData(
        invocation,
        format,
        shown.map((name) => ({ name, type: 'node' })),
      );
    for (const name of shown) stdout.line(show(`${name}  (node)`));
    return 0;
  }
  const objects = new Map<string, Attributes>();
  for (const name of shown) objects.set(name, await attributesOf(client, name));
  if (format)
    return writeData(
      invocation,
      format,
      [...objects].map(([name, attributes]) => ({ name, type: 'node', attributes })),
    );
  const form = {
    onlyNames: false,
    blank: '  ',
    withType: false,
    stanza: given.flag('stanza'),
    compact: given.flag('compress'),
    sources: undefined,
  };
  if (form.stanza && shown.length > 0) stdout.line(show(stanzaHead));
  for (const text of texts({ type: 'node', objects, shown: chosenAttributes(given.value('i')) }, form, show))
    await stdout.write(text);
  return 0;
}

/** What is no type is refused by the server, which is asked for its objects. */
async function templatesOf(client: Client, types: readonly string[]): Promise<readonly string[]> {
  for (const type of types) if (type !== 'node') await readNames(client, type, false);
  if (types.length > 0 && !types.includes('node')) return [];
  return (await client.get('/templates/node/all')) as string[];
}

const attributesOf = async (client: Client, template: string): Promise<Attributes> =>
  ((await client.get('/templates/node', { query: { template } })) as Record<string, Attributes>)[template] ?? {};
