import { createHash } from 'node:crypto';
import { type CommandReply, runCommand } from './commands.ts';
import { openSession, rakp1, rakp3 } from './handshake.ts';
import {
  type IpmiRequest,
  payloadTypes,
  type PlusPacket,
  readIpmi,
  readOldForm,
  readPlus,
  writeIpmi,
  writeOldForm,
  writePlus,
  writePong,
} from './packets.ts';
import type { LightSerial } from './serial.ts';
import { seal, type Session, takeSequence, unseal } from './session.ts';

/** A BMC that is a few hundred bytes large. */
export interface LightBmc {
  readonly index: number;
  readonly address: string;
  readonly guid: Buffer;
  readonly sessions: Map<number, Session>;
  readonly boot: Map<number, Buffer>;
  /** Every accepted Chassis Control, in order. */
  readonly controls: number[];
  power: boolean;
  identify: number;
  repository: readonly Buffer[] | undefined;
  /** Its machine's serial port, if it has one. */
  serial: LightSerial | undefined;
}

export const makeLightBmc = (index: number, address: string): LightBmc => ({
  index,
  address,
  guid: createHash('md5').update(`light-bmc-${index}`).digest(),
  sessions: new Map(),
  boot: new Map(),
  controls: [],
  power: false,
  identify: 0,
  repository: undefined,
  serial: undefined,
});

/** The answer to one packet; undefined to what is not understood or not genuine, as hardware does. */
export function answerPacket(bmc: LightBmc, packet: Buffer): Buffer | undefined {
  if (packet.length < 5 || packet[0] !== 0x06) return undefined;
  if (packet[3] === 0x06) return writePong(packet);
  if (packet[3] !== 0x07) return undefined;
  const old = readOldForm(packet);
  if (old) {
    const request = readIpmi(old);
    return request && writeOldForm(answerRequest(bmc, request, 0));
  }
  const plus = readPlus(packet);
  if (!plus) return undefined;
  return plus.session === 0 ? answerOutside(bmc, plus) : answerInside(bmc, plus, packet);
}

function answerOutside(bmc: LightBmc, { type, payload }: PlusPacket): Buffer | undefined {
  const wrap = (kind: number, reply: Buffer | undefined) => reply && writePlus(kind, 0, 0, reply);
  switch (type) {
    case payloadTypes.openRequest:
      return wrap(payloadTypes.openResponse, openSession(bmc, payload));
    case payloadTypes.rakp1:
      return wrap(payloadTypes.rakp2, rakp1(bmc, payload));
    case payloadTypes.rakp3:
      return wrap(payloadTypes.rakp4, rakp3(bmc, payload));
    case payloadTypes.ipmi: {
      const request = readIpmi(payload);
      return request && wrap(payloadTypes.ipmi, answerRequest(bmc, request, 0));
    }
    default:
      return undefined;
  }
}

function answerInside(bmc: LightBmc, plus: PlusPacket, packet: Buffer): Buffer | undefined {
  const session = bmc.sessions.get(plus.session);
  if (!session?.isOpen || !plus.isAuthenticated || !plus.isEncrypted) return undefined;
  const { ipmi, serial } = payloadTypes;
  if (plus.type !== ipmi && (plus.type !== serial || !bmc.serial)) return undefined;
  const message = unseal(session, packet, plus.payload);
  if (!message || !takeSequence(session, plus.sequence)) return undefined;
  session.used = Date.now();
  if (plus.type === serial) {
    bmc.serial?.receive(session, message, plus.sequence);
    return undefined;
  }
  const request = readIpmi(message);
  if (!request) return undefined;
  const own = request.netfn === 0x06 ? sessionCommand(bmc, session, request) : undefined;
  if (own) return seal(session, writeIpmi(request, own.code, Buffer.from(own.data)));
  return seal(session, answerRequest(bmc, request, session.level));
}

function answerRequest(bmc: LightBmc, request: IpmiRequest, level: number): Buffer {
  const { code, data } = runCommand(bmc, request.netfn, request.command, request.data, level);
  return writeIpmi(request, code, Buffer.from(data));
}

/** Set Session Privilege Level and Close Session, which are about the session itself (sections 22.18 and 22.19). */
function sessionCommand(bmc: LightBmc, session: Session, { command, data }: IpmiRequest): CommandReply | undefined {
  if (command === 0x3b) {
    const wanted = data[0]! & 0x0f;
    if (wanted > session.limit) return { code: 0x81, data: [] };
    if (wanted > 0) session.level = wanted;
    return { code: 0, data: [session.level] };
  }
  if (command !== 0x3c) return bmc.serial?.command(session, command, data);
  const id = data.length < 4 ? 0 : data.readUInt32LE(0);
  if (bmc.serial?.owner?.id === id) bmc.serial.end();
  return { code: bmc.sessions.delete(id) ? 0 : 0x87, data: [] };
}
