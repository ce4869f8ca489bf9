import { Fault } from '../../core/errors.ts';
import { tableNamed } from '../../database/tables.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import type { BootStates } from './states.ts';

const typeTable = tableNamed('nodetype');

/** Refuses states that nothing boots. */
export function checkProvisioned({ first }: BootStates): void {
  if (first.kind === 'ondiscover')
    throw new Fault('invalid', 'A node cannot be provisioned with ondiscover: it is no state. PUT bootstate sets it.');
  if (first.kind === 'word' && first.word === 'offline')
    throw new Fault(
      'invalid',
      'A node cannot be provisioned with offline: it would boot nothing. PUT bootstate sets it.',
    );
}

/** Why a node cannot be provisioned, before anything of it is changed. */
export function checkNode(reader: EffectiveReader, node: string, { first }: BootStates): void {
  for (const attribute of ['netboot', 'arch', 'mgt'])
    if (!nodeAttribute(reader, node, attribute)) throw new Fault('invalid', `Missing the '${attribute}' attribute.`);
  if (first.kind !== 'image') return;
  const { arch, provmethod } = reader.row(typeTable, node) ?? {};
  const name = first.name ?? provmethod ?? '';
  const osarch = reader.snapshot.get('osimage', name)?.['osarch'];
  if (osarch && osarch !== arch)
    throw new Fault('invalid', `its arch is ${arch}, but the image ${name} is for ${osarch}.`);
}
