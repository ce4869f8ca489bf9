import type { IpmiLink } from '../link.ts';
import { atLeast, byteAt } from './bytes.ts';
import { dcmiExchange } from './dcmi-exchange.ts';

/** DCMI 1.5 section 6.4.6: management controller identifier string. */
const commands = { getControllerId: 0x09, setControllerId: 0x0a };
/** 64 bytes with the zero that ends the text. */
export const maximumControllerId = 63;
const pieceLength = 16;

/** The controller's host name, as it announces it in DHCP. */
export async function getControllerId(link: IpmiLink, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  for (let offset = 0; offset <= maximumControllerId; ) {
    const request = { command: commands.getControllerId, data: [offset, pieceLength], what: 'to tell its host name' };
    const { data } = await dcmiExchange(link, request, signal);
    const total = byteAt(atLeast(data, 1, request.what), 0);
    const piece = data.subarray(1, 1 + pieceLength);
    pieces.push(piece);
    offset += piece.length;
    if (piece.length === 0 || piece.includes(0) || offset >= total) break;
  }
  const text = Buffer.concat(pieces);
  const end = text.indexOf(0);
  return text.subarray(0, end < 0 ? text.length : end).toString('latin1');
}

export async function setControllerId(link: IpmiLink, name: string, signal: AbortSignal): Promise<void> {
  const bytes = Buffer.from(`${name}\0`, 'latin1');
  for (let offset = 0; offset < bytes.length; offset += pieceLength) {
    const piece = bytes.subarray(offset, offset + pieceLength);
    const data = [offset, piece.length, ...piece];
    const request = {
      command: commands.setControllerId,
      data,
      privilege: 'administrator',
      what: 'its host name',
    } as const;
    await dcmiExchange(link, request, signal);
  }
}
