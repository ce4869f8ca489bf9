import { Duplex } from 'node:stream';
import { LibvirtConnection } from '../../../src/protocols/libvirt/connection.ts';
import { encodeMessage, Framer, type Header, type Message } from '../../../src/protocols/libvirt/wire.ts';

/** A daemon, played by a test. */
export interface PlayedDaemon {
  readonly stream: Duplex;
  /** Whole messages that came. */
  readonly heard: Message[];
  say(header: Partial<Header>, body?: Buffer): void;
  /** Whatever bytes. */
  sayBytes(bytes: Buffer): void;
  hangUp(): void;
}

/** One with a connection to it. */
export interface Peer extends PlayedDaemon {
  readonly connection: LibvirtConnection;
}

export const remoteProgram = 0x20008086;
export const keepaliveProgram = 0x6b656570;

export function playDaemon(answer: (message: Message, daemon: PlayedDaemon) => void): PlayedDaemon {
  const framer = new Framer();
  const stream = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _encoding, done) {
      done();
      for (const message of framer.add(bytes)) {
        daemon.heard.push(message);
        answer(message, daemon);
      }
    },
  });
  const daemon: PlayedDaemon = {
    stream,
    heard: [],
    say(header, body) {
      const usual = { program: remoteProgram, procedure: 0, type: 1, serial: 0, status: 0 };
      daemon.sayBytes(encodeMessage({ ...usual, ...header }, body));
    },
    sayBytes: (bytes) => void stream.push(bytes),
    hangUp: () => void stream.push(null),
  };
  return daemon;
}

export function makePeer(answer: (message: Message, peer: PlayedDaemon) => void, keepaliveInterval?: number): Peer {
  const daemon = playDaemon(answer);
  return { ...daemon, connection: new LibvirtConnection(daemon.stream, { where: 'lab', keepaliveInterval }) };
}
