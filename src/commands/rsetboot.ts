import { Type } from 'typebox';
import type { BootOrder } from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { checkWord, hardwareOnWorkers, onHardware, perNode } from './per-node.ts';

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
  ...onHardware(
    'rsetboot',
    'nextBoot',
    args,
    async (boot, { order, persistent = false, mode }, { signal }) => {
      const wanted = orders[order];
      return { nextboot: await (wanted ? boot.set(wanted, { persistent, mode }, signal) : boot.get(signal)) };
    },
    ({ order }) => checkWord(order, [...Object.keys(orders), 'stat'], 'boot order'),
  ),
  onWorkers: hardwareOnWorkers([], (node) => `Look with GET /nodes/${node}/nextboot before you send it again.`),
  line: ({ order, persistent, mode }) => [
    withoutSecrets(order),
    ...(persistent ? ['-p'] : []),
    ...(mode === 'uefi' ? ['-u'] : []),
  ],
  outlivesClient: ({ order }) => order !== 'stat',
});
