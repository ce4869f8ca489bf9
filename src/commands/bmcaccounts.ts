import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeValue } from '../core/results.ts';
import {
  type AccountRole,
  accountRoles,
  type Accounts,
  type BmcAccount,
  type DeviceTarget,
  nodesOfBmc,
  refuseSharedBmc,
} from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { checkWord, deviceAddress, hardwareOnWorkers, perNode, useDevice } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  action: Type.Enum(['list', 'add', 'change', 'remove']),
  name: Type.Optional(Type.String({ description: 'of the account; list is about all' })),
  password: Type.Optional(Type.String()),
  role: Type.Optional(Type.String({ description: accountRoles.join(', ') })),
  enabled: Type.Optional(Type.Boolean()),
});

interface Wanted {
  readonly action: 'list' | 'add' | 'change' | 'remove';
  readonly name?: string | undefined;
  readonly password?: string | undefined;
  readonly role?: string | undefined;
  readonly enabled?: boolean | undefined;
}

interface Target {
  readonly device: DeviceTarget;
  /** Names of the accounts by which muster reaches the nodes of this BMC. */
  readonly used: readonly string[];
}

/** Accounts of BMCs. What muster needs itself stays as it is: rotating is another command. */
export const bmcaccounts = perNode({
  name: 'bmcaccounts',
  args,
  uses: ['hardware'],
  line: ({ action, name, password, role, enabled }) => [
    action,
    ...(name === undefined ? [] : [withoutSecrets(name)]),
    ...(password === undefined ? [] : ['password=********']),
    ...(role === undefined ? [] : [`role=${withoutSecrets(role)}`]),
    ...(enabled === undefined ? [] : [`enabled=${enabled ? 'yes' : 'no'}`]),
  ],
  outlivesClient: ({ action }) => action !== 'list',
  select(snapshot, given, services) {
    check(given);
    return selectNodes(snapshot, given, services);
  },
  prepare(snapshot, { action, name, password, role, enabled }, { hardware, permits }) {
    const targets = hardware.targets(snapshot, 'bmcaccounts', 'accounts');
    return {
      shared: { action, name, password, role, enabled },
      async target(node: string): Promise<Target> {
        const device = await targets(node);
        if (action !== 'list') refuseSharedBmc(snapshot, node, (other) => permits({ nodes: [other] }));
        return { device, used: await usedAccounts(nodesOfBmc(snapshot, node), device, targets) };
      },
    };
  },
  sentTo: ({ device }: Target) => deviceAddress(device),
  onWorkers: {
    ...hardwareOnWorkers([], (node) => `Look with GET /nodes/${node}/sp/accounts before you send it again.`),
    takes: ({ device }: Target) => device.staysHere !== true,
  },
  work: (wanted: Wanted, { device, used }: Target, task) =>
    useDevice(
      device,
      'accounts',
      task,
      (accounts) => carryOut(accounts, wanted, used, task.signal),
      wanted.action === 'list',
    ),
});

/** Printable, and nothing that a path, a shell or a configuration file of a BMC reads as something else. */
const newName = /^[A-Za-z_][\w.@-]{0,31}$/;
const controls = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function check({ action, name, password, role, enabled }: Wanted): void {
  if (action === 'list') return;
  if (name === undefined || name === '' || name.length > 64 || controls.test(name))
    throw new Fault('invalid', 'Give the name of the account, up to 64 characters.');
  if (action === 'add' && !newName.test(name))
    throw new Fault(
      'invalid',
      `"${withoutSecrets(name)}" cannot be the name of a new account: up to 32 letters, digits and . _ @ -, and a letter or _ first.`,
    );
  if (role !== undefined) checkWord(role, accountRoles, 'role of an account');
  if (password !== undefined && (password === '' || controls.test(password)))
    throw new Fault('invalid', 'The password is empty or has control characters.');
  if (action === 'change' && password === undefined && role === undefined && enabled === undefined)
    throw new Fault('missing-member', 'Give what is to change: password, role or enabled.');
}

async function usedAccounts(
  nodes: readonly string[],
  own: DeviceTarget,
  targets: (node: string) => DeviceTarget | Promise<DeviceTarget>,
): Promise<readonly string[]> {
  const names = new Set([own.account ?? '']);
  for (const node of nodes) {
    try {
      names.add((await targets(node)).account ?? '');
    } catch (error) {
      // One that cannot be reached with what is stored of it uses no account.
      if (!(error instanceof Fault)) throw error;
    }
  }
  return [...names].filter((name) => name !== '');
}

async function carryOut(
  accounts: Accounts,
  { action, name = '', password, role, enabled }: Wanted,
  used: readonly string[],
  signal: AbortSignal,
): Promise<NodeValue> {
  if (action === 'list') return shown(await accounts.list(signal), used);
  if (action === 'add') {
    await accounts.add({ name, password: password!, role: role as AccountRole }, signal);
    return {};
  }
  refuseUsed(name, used);
  if (action === 'remove') await accounts.remove(name, signal);
  else await accounts.change(name, { password, role: role as AccountRole | undefined, enabled }, signal);
  return {};
}

const isUsed = (name: string, used: readonly string[]): boolean =>
  // Some hardware does not distinguish upper and lower case.
  used.some((one) => one.toLowerCase() === name.toLowerCase());

function refuseUsed(name: string, used: readonly string[]): void {
  if (!isUsed(name, used)) return;
  throw new Fault(
    'invalid',
    `muster reaches its BMC with the account "${name}". POST /nodes/NODE/sp/rotate gives it a new password. ` +
      'To change or remove it, make another account and set bmcusername and bmcpassword of all nodes of this BMC to that first.',
  );
}

function shown(accounts: readonly BmcAccount[], used: readonly string[]): NodeValue {
  const doubled = (name: string): boolean => accounts.filter((one) => one.name === name).length > 1;
  return Object.fromEntries(
    accounts.map(({ id, name, role, enabled, locked, mustChangePassword }) => [
      doubled(name) ? `${name} (${id})` : name,
      [
        role,
        ...(enabled === undefined ? [] : [enabled ? 'enabled' : 'disabled']),
        ...(locked ? ['locked'] : []),
        ...(mustChangePassword ? ['has to change its password'] : []),
        ...(isUsed(name, used) ? ['used by muster'] : []),
        `id ${id}`,
      ],
    ]),
  );
}
