import { Duplex } from 'node:stream';
import { LibvirtConnection } from '../../../src/protocols/libvirt/connection.ts';
import { encodeMessage, Framer, type Header, type Message } from '../../../src/protocols/libvirt/message.ts';

/** The other end of a connection, played by a test. */
export interface Peer {
  readonly connection: LibvirtConnection;
  /** Whole messages that came. */
  readonly heard: Message[];
  say(header: Partial<Header>, body?: Buffer): void;
  /** Whatever bytes. */
  sayBytes(bytes: Buffer): void;
  hangUp(): void;
}

export const remoteProgram = 0x20008086;
export const keepaliveProgram = 0x6b656570;

export function makePeer(answer: (message: Message, peer: Peer) => void, keepaliveInterval?: number): Peer {
  const framer = new Framer();
  const stream = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _encoding, done) {
      done();
      for (const message of framer.add(bytes)) {
        peer.heard.push(message);
        answer(message, peer);
      }
    },
  });
  const peer: Peer = {
    connection: new LibvirtConnection(stream, { where: 'lab', keepaliveInterval }),
    heard: [],
    say(header, body) {
      const usual = { program: remoteProgram, procedure: 0, type: 1, serial: 0, status: 0 };
      peer.sayBytes(encodeMessage({ ...usual, ...header }, body));
    },
    sayBytes: (bytes) => void stream.push(bytes),
    hangUp: () => void stream.push(null),
  };
  return peer;
}
