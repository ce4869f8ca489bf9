import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, linkAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import type { BootSequence } from '../capabilities.ts';
import { patchOrSettings, systemFor, type Target, until } from './target.ts';

/** Something a system can boot from: BootOrder holds references, people know names. */
interface Option {
  readonly reference: string;
  readonly name: string;
  /** ComputerSystem.BootSource, such as `Pxe`. */
  readonly alias: string | undefined;
}

/** Services that hand a setting on show it a little later. */
const settles = 5_000;

export function redfishBootSequence(target: Target): BootSequence {
  return {
    async get(signal) {
      const system = await systemFor(target, signal);
      const references = orderOf(system);
      const options = await optionsOf(target, system, references, signal);
      return references.map((reference) => options.find((option) => option.reference === reference)!.name);
    },
    set: (order, signal) => setOrder(target, order, signal),
  };
}

function orderOf({ body }: Pick<Resource, 'body'>): readonly string[] {
  if (!Array.isArray(at(body, 'Boot', 'BootOrder'))) throw new Fault('invalid', 'its BMC does not show a boot order.');
  return textsAt(body, 'Boot', 'BootOrder');
}

/** One for each reference of the order. A name that would be ambiguous in a list gives way to the reference. */
async function optionsOf(
  { service }: Target,
  { body }: Resource,
  references: readonly string[],
  signal: AbortSignal,
): Promise<readonly Option[]> {
  const described = await memberResources(service, linkAt(body, 'Boot', 'BootOptions'), signal);
  const found = references.map((reference) => {
    const option = described.find((one) => textAt(one.body, 'BootOptionReference') === reference)?.body;
    const name = textAt(option, 'DisplayName') ?? textAt(option, 'Name') ?? reference;
    return { reference, name, alias: textAt(option, 'Alias') };
  });
  return found.map((option) => {
    const clear = !option.name.includes(',') && found.filter(({ name }) => name === option.name).length === 1;
    return clear ? option : { ...option, name: option.reference };
  });
}

async function setOrder(target: Target, order: readonly string[], signal: AbortSignal): Promise<void> {
  const system = await systemFor(target, signal);
  const before = orderOf(system);
  const options = await optionsOf(target, system, before, signal);
  const first = order.map((word) => pick(options, word).reference);
  const wanted = [...new Set([...first, ...before])];
  if (isSame(wanted, before)) return;
  const changed = await patchOrSettings(target, system, { Boot: { BootOrder: wanted } }, signal);
  await until(
    async () => orderOf(await target.service.get(changed, signal)),
    (now) => isSame(now, wanted),
    (now) => new Fault('invalid', `its BMC accepted the boot order, but still shows "${now.join(',')}".`),
    settles,
    signal,
  );
}

/** By reference, by name, or by what it is if there is only one such. */
function pick(options: readonly Option[], word: string): Option {
  const wanted = word.toLowerCase();
  const exact = options.find(({ reference, name }) => [reference, name].some((text) => text.toLowerCase() === wanted));
  if (exact) return exact;
  const kind = options.filter(({ alias }) => alias?.toLowerCase() === wanted);
  if (kind.length === 1) return kind[0]!;
  const known = options.map(({ name }) => name).join(', ');
  const problem = kind.length > 1 ? 'means several boot options' : 'is not a boot option';
  throw new Fault('invalid', `"${word}" ${problem}; its BMC shows ${known}.`);
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
