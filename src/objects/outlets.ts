import { Fault } from '../core/errors.ts';
import { Snapshot } from '../database/snapshot.ts';
import { effectiveReader } from './effective.ts';
import { nodeAttribute } from './node-attributes.ts';

/** An outlet as the attribute pdu names it: `pdu1:3`. */
export interface OutletName {
  readonly pdu: string;
  readonly outlet: string;
}

export const outletText = ({ pdu, outlet }: OutletName): string => `${pdu}:${outlet}`;

/** Of a PDU whose units are linked `1.3`. */
const outletForm = /^([^:]+):0*(\d{1,9}(?:\.\d{1,9})*|[A-Za-z][\w.-]{0,60})$/;

const piecesOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((piece) => piece !== '');

function readOutlet(piece: string): OutletName | undefined {
  const [, pdu, outlet] = outletForm.exec(piece) ?? [];
  return pdu === undefined ? undefined : { pdu, outlet: outlet! };
}

/** What feeds a node; a Fault where the attribute cannot be read or names what is no node. */
export function outletsOf(snapshot: Snapshot, node: string): readonly OutletName[] {
  const text = nodeAttribute(effectiveReader(snapshot), node, 'pdu');
  if (!text)
    throw new Fault('invalid', 'its attribute pdu is not set; write PDU:OUTLET there, for example pdu1:3,pdu2:3.', {
      reference: ['without pdu attribute'],
    });
  return piecesOf(text).map((piece) => {
    const outlet = readOutlet(piece);
    if (!outlet)
      throw new Fault(
        'invalid',
        `its attribute pdu has "${piece.slice(0, 80)}", which is not PDU:OUTLET as pdu1:3 is.`,
      );
    if (!snapshot.get('nodelist', outlet.pdu))
      throw new Fault('invalid', `its attribute pdu names ${outlet.pdu}, and there is no node of that name.`);
    return outlet;
  });
}

/** The nodes that each outlet feeds, by PDU and outlet. */
const fedNodes = Snapshot.cached((snapshot): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> => {
  const byPdu = new Map<string, Map<string, string[]>>();
  if (snapshot.rows('pduoutlet').size === 0) return byPdu;
  const reader = effectiveReader(snapshot);
  for (const node of snapshot.rows('nodelist').keys()) {
    for (const piece of piecesOf(nodeAttribute(reader, node, 'pdu') ?? '')) {
      const found = readOutlet(piece);
      if (!found) continue;
      let outlets = byPdu.get(found.pdu);
      if (!outlets) byPdu.set(found.pdu, (outlets = new Map()));
      const nodes = outlets.get(found.outlet);
      if (nodes) nodes.push(node);
      else outlets.set(found.outlet, [node]);
    }
  }
  return byPdu;
});

/** By outlet, whom a PDU feeds. */
export const fedBy = (snapshot: Snapshot, pdu: string): ReadonlyMap<string, readonly string[]> =>
  fedNodes(snapshot).get(pdu) ?? new Map();
