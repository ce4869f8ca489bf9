import { encodeRequest, functions, headerLength } from './message.ts';

const scope = 'DEFAULT';
/** RFC 2608 section 8.1: no service type is as long as to leave no room for previous responders in a datagram. */
const mostBytes = 1_400;

/** A request for services of a type; those named have answered and need not again. */
export function serviceRequest(xid: number, type: string, previous: Iterable<string> | undefined): Buffer {
  const room = mostBytes - headerLength - type.length - scope.length - 16;
  const list = previous === undefined ? '' : fitting(previous, room);
  const heading = { xid, multicast: previous !== undefined };
  return encodeRequest(functions.serviceRequest, heading, [list, type, scope, '', '']);
}

export const attributeRequest = (xid: number, url: string): Buffer =>
  encodeRequest(functions.attributeRequest, { xid, multicast: false }, ['', url, scope, '', '']);

/** As many addresses as there is room for. Those left out answer again, which does no harm. */
function fitting(addresses: Iterable<string>, room: number): string {
  let list = '';
  for (const each of addresses) {
    const address = each.replace(/%.*/, '');
    const longer = list === '' ? address : `${list},${address}`;
    if (longer.length > room) break;
    list = longer;
  }
  return list;
}

export const slpPort = 427;
export const group4 = '239.255.255.253';

/** What directory agents are asked for by. */
export const directoryType = 'service:directory-agent';

/** RFC 3111 4.1: the group of directory agents; else the one of all agents, and the one of those with services of the type. */
export const groups6 = (type: string): string[] =>
  type === directoryType ? ['ff02::123'] : ['ff02::116', `ff02::1:${(0x1000 + typeHash(type)).toString(16)}`];

export function typeHash(type: string): number {
  let hash = 0;
  for (const byte of Buffer.from(type)) hash = (hash * 33 + byte) & 0x3ff;
  return hash;
}
