import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { contains, ipText, type Prefix, prefixOf, prefixText } from '../core/ip.ts';
import { checkValue } from '../database/checks.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyOf, tableNamed } from '../database/tables.ts';
import { checkAttributeNames, createObject, type Given } from '../objects/define.ts';
import { objectExists } from '../objects/definitions.ts';
import { attributeWords } from '../objects/shown-arguments.ts';
import { networksOf } from '../objects/networks.ts';
import { attributeNamed, typeNamed } from '../objects/types.ts';
import { type ConnectedNetwork, localNetworks, type LocalNetworks } from '../names/index.ts';
import { change, noArguments, query, textMap } from './command.ts';

const type = typeNamed('network');
const fromMachine = ['net', 'mask', 'netname'];
const managementNode = '<xcatmaster>';

export const makenetworks = change({
  name: 'makenetworks',
  args: Type.Object({
    attributes: textMap,
    local: Type.Optional(
      Type.Unsafe<LocalNetworks>({ description: 'the networks of this machine; found out by prepare' }),
    ),
  }),
  line: ({ attributes }) => attributeWords('network', attributes),
  prepare: (args) => Promise.resolve({ ...args, local: localNetworks() }),
  plan(draft, { attributes, local }, { ranges }) {
    checkAttributeNames(type, attributes);
    const taken = fromMachine.find((name) => attributes[name] !== undefined);
    if (taken) throw new Fault('invalid', `The attribute ${taken} of these networks comes from the interfaces.`);
    // Also if there is nothing to make: a wrong value is a mistake today, not when the next interface comes.
    for (const [name, value] of Object.entries(attributes))
      for (const { table, column } of attributeNamed(type, name).at) checkValue(tableNamed(table), column, value, {});
    const messages: string[] = [];
    for (const { prefix, name, attributes: own, isDefined } of local ? foundNetworks(draft.base, local) : []) {
      if (isDefined) continue;
      if (objectExists(draft.base, type, name))
        messages.push(`Ignoring ${prefixText(prefix)}: another network has the name '${name}'.`);
      else createObject(draft, type, name, { ...own, ...attributes }, ranges);
    }
    return { shape: 'none', messages };
  },
});

/** What `makenetworks` finds, defined or not; the policy knows it as what else the management node has. */
export const localnetworks = query({
  name: 'localrest',
  args: noArguments,
  line: () => ['list', 'networks'],
  run: (snapshot) => ({
    shape: 'value',
    value: foundNetworks(snapshot, localNetworks()).map(({ name, attributes, isDefined }) => ({
      name,
      ...attributes,
      defined: isDefined,
    })),
  }),
});

/** A network of this machine as it would be defined. */
interface FoundNetwork {
  readonly prefix: Prefix;
  readonly name: string;
  readonly attributes: Given;
  readonly isDefined: boolean;
}

const foundNetworks = (snapshot: Snapshot, local: LocalNetworks): FoundNetwork[] =>
  local.connected.map((network) => {
    const { prefix } = network;
    const attributes = attributesOf(network, local);
    return {
      prefix,
      name: nameOf(prefix, attributes),
      attributes,
      isDefined: hasNetwork(snapshot, prefix, attributes),
    };
  });

/** A row that is disabled or was written with another form of the mask counts as well. */
function hasNetwork(snapshot: Snapshot, { family, value, bits }: Prefix, own: Given): boolean {
  if (snapshot.get('networks', keyOf(tableNamed('networks'), own))) return true;
  return networksOf(snapshot).some(
    ({ prefix }) => prefix.family === family && prefix.value === value && prefix.bits === bits,
  );
}

function attributesOf({ prefix, device, mtu }: ConnectedNetwork, { gateways }: LocalNetworks): Given {
  const gateway = gateways.find((ip) => contains(prefix, ip));
  return {
    net: ipText(prefix),
    mask: prefix.family === 4 ? dottedMask(prefix.bits) : `/${prefix.bits}`,
    mgtifname: device,
    gateway: gateway ? ipText(gateway) : managementNode,
    tftpserver: managementNode,
    ...(mtu === undefined ? {} : { mtu }),
  };
}

const dottedMask = (bits: number): string => ipText(prefixOf({ family: 4, value: 0xffff_ffffn }, bits));

/** `10_0_0_0-255_255_255_0`; of IPv6 the network itself. */
const nameOf = ({ family }: Prefix, { net, mask }: Given): string =>
  family === 4 ? `${net!}-${mask!}`.replaceAll('.', '_') : net!;
