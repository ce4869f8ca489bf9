import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { BootOrder } from '../drivers/capabilities.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { selectNodes } from './command.ts';
import { onHardware, perNode } from './per-node.ts';

const orders: Readonly<Record<string, BootOrder>> = {
  net: 'net',
  hd: 'hd',
  cd: 'cd',
  floppy: 'floppy',
  def: 'def',
  default: 'def',
  setup: 'setup',
};

const args = {
  order: Type.String({ description: 'what to boot; stat reads' }),
  persistent: Type.Optional(Type.Boolean()),
  mode: Type.Optional(Type.Enum(['uefi', 'legacy'])),
};

export const rsetboot = perNode({
  ...onHardware('rsetboot', 'nextBoot', args, async (boot, { order, persistent = false, mode }, { signal }) => {
    const wanted = orders[order];
    return { nextboot: await (wanted ? boot.set(wanted, { persistent, mode }, signal) : boot.get(signal)) };
  }),
  line: ({ order, persistent, mode }) => [
    withoutSecrets(order),
    ...(persistent ? ['-p'] : []),
    ...(mode === 'uefi' ? ['-u'] : []),
  ],
  outlivesClient: ({ order }) => order !== 'stat',
  select(snapshot, given, services) {
    if (given.order !== 'stat' && !Object.hasOwn(orders, given.order)) {
      throw new Fault(
        'invalid',
        `"${given.order}" is not a boot order; known are ${Object.keys(orders).join(', ')}, stat.`,
      );
    }
    return selectNodes(snapshot, given, services);
  },
});
