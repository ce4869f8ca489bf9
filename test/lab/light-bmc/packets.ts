/** The framing of RMCP+ (IPMI 2.0 section 13) from the side of the BMC. Whatever does not fit is undefined. */

export const payloadTypes = {
  ipmi: 0x00,
  serial: 0x01,
  openRequest: 0x10,
  openResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const;

const head = [0x06, 0x00, 0xff, 0x07] as const;
const rmcpPlus = 0x06;

export interface IpmiRequest {
  readonly requester: number;
  readonly requesterLun: number;
  readonly responder: number;
  readonly netfn: number;
  readonly lun: number;
  readonly sequence: number;
  readonly command: number;
  readonly data: Buffer;
}

export const checksum = (bytes: Uint8Array): number => -bytes.reduce((sum, byte) => sum + byte, 0) & 0xff;

export function readIpmi(bytes: Buffer): IpmiRequest | undefined {
  if (bytes.length < 7 || checksum(bytes.subarray(0, 3)) !== 0 || checksum(bytes.subarray(3)) !== 0) return undefined;
  return {
    responder: bytes[0]!,
    netfn: bytes[1]! >> 2,
    lun: bytes[1]! & 3,
    requester: bytes[3]!,
    sequence: bytes[4]! >> 2,
    requesterLun: bytes[4]! & 3,
    command: bytes[5]!,
    data: bytes.subarray(6, -1),
  };
}

export function writeIpmi(request: IpmiRequest, code: number, data: Uint8Array): Buffer {
  const { requester, requesterLun, responder, netfn, lun, sequence, command } = request;
  const reply = Buffer.alloc(8 + data.length);
  reply[0] = requester;
  reply[1] = ((netfn | 1) << 2) | requesterLun;
  reply[2] = checksum(reply.subarray(0, 2));
  reply[3] = responder;
  reply[4] = (sequence << 2) | lun;
  reply[5] = command;
  reply[6] = code;
  reply.set(data, 7);
  reply[reply.length - 1] = checksum(reply.subarray(3, -1));
  return reply;
}

/** The message of an IPMI 1.5 packet outside a session. */
export const readOldForm = (packet: Buffer): Buffer | undefined =>
  packet[4] === 0 && packet.length >= 14 && packet.length >= 14 + packet[13]!
    ? packet.subarray(14, 14 + packet[13]!)
    : undefined;

export function writeOldForm(message: Buffer): Buffer {
  const packet = Buffer.alloc(14 + message.length);
  packet.set(head);
  packet[13] = message.length;
  packet.set(message, 14);
  return packet;
}

export interface PlusPacket {
  readonly type: number;
  readonly isEncrypted: boolean;
  readonly isAuthenticated: boolean;
  readonly session: number;
  readonly sequence: number;
  readonly payload: Buffer;
}

export function readPlus(packet: Buffer): PlusPacket | undefined {
  if (packet.length < 16 || packet[4] !== rmcpPlus) return undefined;
  const length = packet.readUInt16LE(14);
  if (packet.length < 16 + length) return undefined;
  return {
    type: packet[5]! & 0x3f,
    isEncrypted: (packet[5]! & 0x80) !== 0,
    isAuthenticated: (packet[5]! & 0x40) !== 0,
    session: packet.readUInt32LE(6),
    sequence: packet.readUInt32LE(10),
    payload: packet.subarray(16, 16 + length),
  };
}

/** The header and payload of an RMCP+ packet; a sealed one gets its trailer behind. */
export function writePlus(type: number, session: number, sequence: number, payload: Buffer): Buffer {
  const packet = Buffer.alloc(16 + payload.length);
  packet.set(head);
  packet[4] = rmcpPlus;
  packet[5] = type;
  packet.writeUInt32LE(session, 6);
  packet.writeUInt32LE(sequence, 10);
  packet.writeUInt16LE(payload.length, 14);
  packet.set(payload, 16);
  return packet;
}

/** The answer to an ASF presence ping, which says that IPMI is spoken here. */
export function writePong(ping: Buffer): Buffer | undefined {
  if (ping.length < 12 || ping[3] !== 0x06 || ping[8] !== 0x80) return undefined;
  const pong = Buffer.alloc(28);
  pong.set([0x06, 0x00, 0xff, 0x06, 0x00, 0x00, 0x11, 0xbe, 0x40, ping[9]!, 0x00, 0x10]);
  pong.set([0x00, 0x00, 0x11, 0xbe, 0x00, 0x00, 0x00, 0x00, 0x81, 0x00], 12);
  return pong;
}
