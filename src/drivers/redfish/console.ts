import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import { at, flagAt, linkAt, namesAt, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { type ConsoleStyle, styleOfVendor } from '../bmc/console-styles.ts';
import { openSshConsole } from '../bmc/ssh-console.ts';
import type { Console } from '../console.ts';
import { managerFor, systemFor, type Target } from './target.ts';

type Way = { readonly port: number; readonly style: ConsoleStyle } | { readonly ipmiPort: number | undefined };

const sshPort = 22;

/** As the service says it; DSP0268: SerialConsole of the system, then that of its manager, then the command line of the manager. */
export const redfishConsole = (target: Target): Console => ({
  open: async (options, signal) => openBy(target, await wayOf(target, signal), options, signal),
});

/** On a port where it is there at once. */
export const consoleOnPort = (target: Target, port: number, style: ConsoleStyle): Console => ({
  open: (options, signal) => openBy(target, { port, style }, options, signal),
});

async function openBy(
  { access, consoles }: Target,
  way: Way,
  ...[options, signal]: Parameters<Console['open']>
): ReturnType<Console['open']> {
  const { node: name, address, username, password } = access;
  if ('style' in way) {
    const { port, style } = way;
    return openSshConsole({ name, address, port, user: username, password }, style, consoles.hostKeys, options, signal);
  }
  const port = way.ipmiPort;
  const serial = await consoles.openSerial({ address, port, username, password }, options, signal);
  return { way: `SOL ${port === undefined ? address : formatListen({ host: address, port })}`, ...serial };
}

async function wayOf(target: Target, signal: AbortSignal): Promise<Way> {
  const [system, manager] = [await systemFor(target, signal), await managerFor(target, signal)];
  const [ssh, ipmi] = ['SSH', 'IPMI'].map((name) => at(system.body, 'SerialConsole', name));
  const vendor = await vendorStyle(target, [system, manager], signal);
  if (flagAt(ssh, 'ServiceEnabled') === true)
    return { port: numberAt(ssh, 'Port') ?? sshPort, style: advertised(ssh, vendor) };
  const ofManager = at(manager?.body, 'SerialConsole');
  const types = flagAt(ofManager, 'ServiceEnabled') === false ? [] : textsAt(ofManager, 'ConnectTypesSupported');
  if (types.includes('SSH') && vendor) return { port: await portOfManager(target, manager, signal), style: vendor };
  if (flagAt(ipmi, 'ServiceEnabled') === true || types.includes('IPMI')) return { ipmiPort: numberAt(ipmi, 'Port') };
  const shell = at(manager?.body, 'CommandShell');
  const hasShell = flagAt(shell, 'ServiceEnabled') !== false && textsAt(shell, 'ConnectTypesSupported').includes('SSH');
  if (hasShell && vendor) return { port: await portOfManager(target, manager, signal), style: vendor };
  throw new Fault(
    'invalid',
    'its Redfish service offers no serial console over SSH or IPMI that is enabled; if its BMC has one over IPMI all the same, set cons=ipmi.',
  );
}

/** A command of the service's own goes before what is known of its vendor; on a port of its own there is no command line. */
function advertised(ssh: unknown, vendor: ConsoleStyle | undefined): ConsoleStyle {
  const command = at(ssh, 'ConsoleEntryCommand') ?? '';
  if (command !== '') {
    if (typeof command !== 'string' || !/^[\x20-\x7e]{1,100}$/.test(command))
      throw new Fault('garbled', 'the command that its Redfish service names for the console is none.');
    return { inUse: usualInUse, ...vendor, enter: command };
  }
  if (flagAt(ssh, 'SharedWithManagerCLI') !== true) return { leave: vendor?.leave, breakKeys: vendor?.breakKeys };
  if (vendor) return vendor;
  throw new Fault(
    'invalid',
    'its serial console over SSH is behind the command line of its BMC, and its Redfish service does not say which command opens it.',
  );
}

const usualInUse = ['in use'];

async function vendorStyle(
  { service }: Target,
  resources: readonly (Resource | undefined)[],
  signal: AbortSignal,
): Promise<ConsoleStyle | undefined> {
  const root = await service.root(signal);
  return styleOfVendor([
    textAt(root.body, 'Vendor'),
    ...resources.map((each) => textAt(each?.body, 'Manufacturer')),
    ...namesAt(root.body, 'Oem'),
  ]);
}

async function portOfManager({ service }: Target, manager: Resource | undefined, signal: AbortSignal): Promise<number> {
  const protocols = await service.find(linkAt(manager?.body, 'NetworkProtocol'), signal);
  return numberAt(protocols?.body, 'SSH', 'Port') ?? sshPort;
}
