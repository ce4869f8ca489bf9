import { Fault } from '../../core/errors.ts';
import { defineDomain, domainXml } from '../../protocols/libvirt/calls/domains.ts';
import { childElements, type Element, element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { BootOrder, NextBoot } from '../capabilities.ts';
import { hypervisorOf, type Machine, onMachine, readMachine } from './machine.ts';

/** What stands for an order in a definition. */
const devices: Readonly<Partial<Record<BootOrder, string>>> = { net: 'network', hd: 'hd', cd: 'cdrom', floppy: 'fd' };
const words: Readonly<Record<string, string>> = {
  network: 'Network',
  hd: 'Hard Drive',
  cdrom: 'CD/DVD',
  fd: 'Floppy',
};
const inactive = 'boot override inactive';

/** Where the usual order is kept while another one stands in its place: libvirt itself knows nothing that holds once. */
const namespace = 'urn:muster:boot';
const keptName = 'muster:usual-boot';

const definition = async (machine: Machine, signal: AbortSignal): Promise<Element> =>
  readXml(
    await readMachine(machine, signal, (connection, domain) =>
      domainXml(connection, domain, 'to define again', { signal }),
    ),
  );

/** What it is to be is made from what it is: nobody else changes it meanwhile. */
async function redefine(
  machine: Machine,
  signal: AbortSignal,
  change: (domain: Element) => Element | undefined,
): Promise<void> {
  const { machines } = await hypervisorOf(machine, signal);
  await machines.take(machine.access.node, signal, async () => {
    const changed = change(await definition(machine, signal));
    if (changed)
      await onMachine(machine, signal, (connection) => defineDomain(connection, writeXml(changed), { signal }));
  });
}

const orderIn = (domain: Element): readonly string[] =>
  childElements(elementAt(domain, 'os') ?? domain, 'boot').flatMap(({ attributes }) => attributes['dev'] ?? []);

const keptIn = (domain: Element): readonly string[] | undefined =>
  elementAt(domain, 'metadata', keptName)?.attributes['order']?.split(',');

/** The same with another order, and with the usual one kept, or not. */
function reordered(domain: Element, order: readonly string[], usual?: readonly string[]): Element {
  const withOrder = (os: Element): Element => ({
    ...os,
    children: [
      ...os.children.filter((child) => typeof child === 'string' || child.name !== 'boot'),
      ...order.map((dev) => element('boot', { dev })),
    ],
  });
  const kept = usual && element(keptName, { 'xmlns:muster': namespace, order: usual.join(',') });
  const others = elementAt(domain, 'metadata')?.children.filter(
    (child) => typeof child === 'string' || child.name !== keptName,
  );
  const rest = domain.children.filter((child) => typeof child === 'string' || child.name !== 'metadata');
  return {
    ...domain,
    children: [
      element('metadata', {}, others, kept),
      ...rest.map((child) => (typeof child !== 'string' && child.name === 'os' ? withOrder(child) : child)),
    ],
  };
}

/** Whether something else than usual is to boot once. */
export const hasOverride = async (machine: Machine, signal: AbortSignal): Promise<boolean> =>
  keptIn(await definition(machine, signal)) !== undefined;

/** Puts the usual order back; what runs is not touched by it. */
export const endOverride = (machine: Machine, signal: AbortSignal): Promise<void> =>
  redefine(machine, signal, (domain) => {
    const usual = keptIn(domain);
    return usual && reordered(domain, usual);
  });

async function setOrder(
  machine: Machine,
  order: BootOrder,
  { persistent, mode }: Parameters<NextBoot['set']>[1],
  signal: AbortSignal,
): Promise<void> {
  if (mode !== undefined) throw new Fault('invalid', 'a virtual machine has the firmware it was made with.');
  if (order === 'def') return endOverride(machine, signal);
  const device = devices[order];
  if (device === undefined) {
    const offered = [...Object.keys(devices), 'def'].join(', ');
    throw new Fault('invalid', `a virtual machine cannot be told to boot "${order}"; it can ${offered}.`);
  }
  await redefine(machine, signal, (domain) => {
    if (hasDeviceOrder(domain)) {
      throw new Fault('invalid', 'its definition numbers its devices for booting, which nextboot does not change.');
    }
    const usual = keptIn(domain) ?? orderIn(domain);
    const wanted = [device, ...usual.filter((each) => each !== device)];
    return persistent ? reordered(domain, wanted) : reordered(domain, wanted, usual);
  });
}

const hasDeviceOrder = (domain: Element): boolean =>
  childElements(elementAt(domain, 'devices') ?? domain).some((device) => elementAt(device, 'boot'));

async function readOrder(machine: Machine, signal: AbortSignal): Promise<string> {
  const domain = await definition(machine, signal);
  const [first = ''] = orderIn(domain);
  return keptIn(domain) ? (words[first] ?? first) : inactive;
}

export function kvmNextBoot(machine: Machine): NextBoot {
  return {
    get: (signal) => readOrder(machine, signal),
    async set(order, options, signal) {
      await setOrder(machine, order, options, signal);
      if (!options.persistent) return readOrder(machine, signal);
      const [first = ''] = orderIn(await definition(machine, signal));
      return words[first] ?? first;
    },
  };
}
