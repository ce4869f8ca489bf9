/** IPMI 2.0 13.1.3 and 13.6: the RMCP header and the RMCP+ session header behind it, 16 bytes together. */
export const headerLength = 16;

/** IPMI 2.0 table 13-16; the two high bits say encrypted and authenticated. */
export const payloads = {
  openRequest: 0x10,
  openResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
  sealedMessage: 0xc0,
  sealedSerial: 0xc1,
} as const;

export function writeHeader(packet: Buffer, type: number, session: number, sequence: number, length: number): void {
  packet.writeUInt32LE(0x07ff0006, 0);
  packet[4] = 0x06;
  packet[5] = type;
  packet.writeUInt32LE(session, 6);
  packet.writeUInt32LE(sequence, 10);
  packet.writeUInt16LE(length, 14);
}

/** Whether this is an RMCP+ packet that is as long as it says. */
export function isRmcpPlus(packet: Buffer): boolean {
  return (
    packet.length >= headerLength &&
    packet[0] === 0x06 &&
    packet[3] === 0x07 &&
    packet[4] === 0x06 &&
    packet.readUInt16LE(14) <= packet.length - headerLength
  );
}

/** Whether this is a payload of a session, encrypted and authenticated: a message unless another kind is named. */
export function isSealed(packet: Buffer, type: number = payloads.sealedMessage): boolean {
  return isRmcpPlus(packet) && packet[5] === type;
}

/** Whether this is an answer of the set-up of a session, whole enough to hold a tag and a status. */
export function isSetupAnswer(packet: Buffer): boolean {
  if (!isRmcpPlus(packet) || packet.readUInt32LE(6) !== 0 || packet.readUInt16LE(14) < 2) return false;
  const type = packet[5];
  return type === payloads.openResponse || type === payloads.rakp2 || type === payloads.rakp4;
}

/** The session id of ours that a packet is meant for; 0 if it names none. */
export function recipientOf(packet: Buffer): number {
  if (!isRmcpPlus(packet)) return 0;
  const session = packet.readUInt32LE(6);
  if (session !== 0) return session;
  return isSetupAnswer(packet) && packet.readUInt16LE(14) >= 8 ? packet.readUInt32LE(headerLength + 4) : 0;
}

/** IPMI 2.0 13.2.3 and 13.2.4: the ASF presence ping and its answer, which any RMCP device understands without a session. */
const asfEnterprise = 0x000011be;
const presencePing = 0x80;
const presencePong = 0x40;
const supportsIpmi = 0x80;

const pingLength = 12;

export function writePing(packet: Buffer, tag: number): number {
  packet.writeUInt32LE(0x06ff0006, 0);
  packet.writeUInt32BE(asfEnterprise, 4);
  packet[8] = presencePing;
  packet[9] = tag;
  packet[10] = 0;
  packet[11] = 0;
  return pingLength;
}

/** Whether a packet is a pong, and if so whether its sender speaks IPMI. */
export function readPong(packet: Buffer): { ipmi: boolean } | undefined {
  if (packet.length < 28 || packet[0] !== 0x06 || packet[3] !== 0x06) return undefined;
  if (packet.readUInt32BE(4) !== asfEnterprise || packet[8] !== presencePong || (packet[11] ?? 0) < 16)
    return undefined;
  return { ipmi: ((packet[20] ?? 0) & supportsIpmi) !== 0 };
}
