/** IPMI 2.0 13.2.3 and 13.2.4: the ASF presence ping and its answer, which any RMCP device understands without a session. */
const asfEnterprise = 0x000011be;
const presencePing = 0x80;
const presencePong = 0x40;
const supportsIpmi = 0x80;

export const pingLength = 12;

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
