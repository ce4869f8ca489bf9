/** IPMI 2.0 15.9: the payload of serial over LAN, four bytes and then characters. */
export interface SerialPacket {
  /** From 1 to 15; 0: there is nothing in it to acknowledge. */
  readonly sequence: number;
  /** The packet of the other side that this acknowledges; 0: none. */
  readonly acknowledged: number;
  /** How many characters of that packet were taken. */
  readonly accepted: number;
  /** What the console asks for, or how the BMC is. */
  readonly bits: number;
  readonly characters: Buffer;
}

const headLength = 4;
/** The most that an acknowledgement can count. */
export const mostCharacters = 255;
const lastSequence = 15;

/** Table 15-2, from the console. */
export const wanted = { breakOnLine: 0x10 } as const;
/** The same table, from the BMC. */
export const told = { notTaken: 0x40, unavailable: 0x20, deactivated: 0x10 } as const;

export function writeSerialPacket(target: Buffer, offset: number, packet: SerialPacket): number {
  target[offset] = packet.sequence;
  target[offset + 1] = packet.acknowledged;
  target[offset + 2] = packet.accepted;
  target[offset + 3] = packet.bits;
  return offset + headLength + packet.characters.copy(target, offset + headLength);
}

export function readSerialPacket(payload: Buffer): SerialPacket | undefined {
  if (payload.length < headLength) return undefined;
  return {
    sequence: (payload[0] ?? 0) & 0x0f,
    acknowledged: (payload[1] ?? 0) & 0x0f,
    accepted: payload[2] ?? 0,
    bits: payload[3] ?? 0,
    characters: payload.subarray(headLength),
  };
}

export const nextSerial = (sequence: number): number => (sequence >= lastSequence ? 1 : sequence + 1);
