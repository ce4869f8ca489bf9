// Run inside a namespace, with a JSON of `Crew` as its argument: as many machines as there are MAC addresses boot at once, as firmware
// and iPXE do it. They are behind a relay of DHCP, whose address is on an interface here like those that they are given. Prints a JSON
// of what each was told, in the order of the MAC addresses.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { request } from 'node:http';
import { tftpGet } from './tftp-client.ts';

export interface Crew {
  readonly server: string;
  readonly relay: string;
  readonly macs: readonly string[];
  /** They stop when they have asked DHCP so often; absent: they go on to the end. */
  readonly asksOnly?: number;
}

/** What a machine has got. */
export interface Voyage {
  readonly address: string;
  readonly bootFiles: readonly string[];
  /** Bytes of each file, by what it is. */
  readonly sizes: Readonly<Record<string, number>>;
  /** What a report with the token of the machine before it was answered with, and one with its own. */
  readonly reports: readonly number[];
}

const options = { kind: 53, requested: 50, server: 54, userClass: 77, architecture: 93, bootFile: 67, end: 255 };
const kinds = { discover: 1, offer: 2, request: 3, acknowledgement: 5 };
const again = 2_000;

interface Answer {
  readonly kind: number;
  readonly address: string;
  readonly nextServer: string;
  readonly server: Buffer;
  readonly bootFile: string;
}

/** Asks for many machines over one socket; answers are known by their number. */
class Relay {
  readonly #socket: Socket;
  readonly #crew: Crew;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  constructor(socket: Socket, crew: Crew) {
    this.#socket = socket;
    this.#crew = crew;
    socket.on('message', (packet) => this.#waiting.get(packet.readUInt32BE(4))?.(parse(packet)));
  }

  /** Discovers and requests; what the machine is given in the end. */
  async lease(number: number, mac: string, isIpxe: boolean): Promise<Answer> {
    const own = [
      option(options.architecture, Buffer.from([0, 0])),
      ...(isIpxe ? [option(options.userClass, Buffer.from('iPXE'))] : []),
    ];
    const offer = await this.#ask(number, mac, kinds.discover, kinds.offer, own);
    const chosen = [
      option(options.requested, Buffer.from(offer.address.split('.').map(Number))),
      option(options.server, offer.server),
    ];
    return this.#ask(number, mac, kinds.request, kinds.acknowledgement, [...own, ...chosen]);
  }

  #ask(number: number, mac: string, kind: number, wanted: number, more: readonly Buffer[]): Promise<Answer> {
    const header = Buffer.alloc(240);
    header.set([1, 1, 6, 1]);
    header.writeUInt32BE(number, 4);
    header.set(this.#crew.relay.split('.').map(Number), 24);
    header.set(Buffer.from(mac.replaceAll(':', ''), 'hex'), 28);
    header.set([0x63, 0x82, 0x53, 0x63], 236);
    const packet = Buffer.concat([
      header,
      option(options.kind, Buffer.from([kind])),
      ...more,
      Buffer.from([options.end]),
    ]);
    const send = (): void => this.#socket.send(packet, 67, this.#crew.server);
    return new Promise((resolve) => {
      const timer = setInterval(send, again);
      this.#waiting.set(number, (answer) => {
        if (answer.kind !== wanted) return;
        clearInterval(timer);
        resolve(answer);
      });
      send();
    });
  }
}

const option = (code: number, value: Buffer): Buffer => Buffer.concat([Buffer.from([code, value.length]), value]);

function parse(packet: Buffer): Answer {
  const found = new Map<number, Buffer>();
  for (let at = 240; at < packet.length && packet[at] !== options.end; at += 2 + packet[at + 1]!)
    found.set(packet[at]!, packet.subarray(at + 2, at + 2 + packet[at + 1]!));
  const file = found.get(options.bootFile) ?? packet.subarray(108, 236);
  return {
    kind: found.get(options.kind)?.[0] ?? 0,
    address: [...packet.subarray(16, 20)].join('.'),
    nextServer: [...packet.subarray(20, 24)].join('.'),
    server: found.get(options.server) ?? Buffer.alloc(4),
    bootFile: file.toString('latin1').replaceAll('\0', ''),
  };
}

function http(from: string, url: string, body?: string): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(url, { localAddress: from, agent: false, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode!, body: Buffer.concat(chunks) }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function fetched(from: string, url: string): Promise<Buffer> {
  const { status, body } = await http(from, url);
  if (status !== 200) throw new Error(`${url}: ${status} ${body.toString()}`);
  return body;
}

const crew = JSON.parse(process.argv[2]!) as Crew;
const socket = createSocket('udp4');
socket.bind(67, crew.relay);
await once(socket, 'listening');
const relay = new Relay(socket, crew);

/** From the first question to the files of the image; where it reports stands in its script. */
async function boot(mac: string, index: number): Promise<Voyage & { reportUrl: string }> {
  const first = await relay.lease(2 * index + 1, mac, false);
  const { address } = first;
  const voyage = {
    address,
    bootFiles: [first.bootFile],
    sizes: {} as Record<string, number>,
    reports: [],
    reportUrl: '',
  };
  for (let left = (crew.asksOnly ?? 1) - 1; left > 0; left--) await relay.lease(2 * index + 1, mac, false);
  if (crew.asksOnly !== undefined) return voyage;
  const loader = await tftpGet(address, 69, first.bootFile, { server: crew.server });
  const second = await relay.lease(2 * index + 2, mac, true);
  const scriptUrl = second.bootFile
    .replace('${next-server}', second.nextServer)
    .replace('${netX/mac:hexhyp}', mac.replaceAll(':', '-'));
  const script = (await fetched(address, scriptUrl)).toString();
  voyage.bootFiles.push(second.bootFile);
  voyage.sizes['loader'] = loader.length;
  const urls = {
    kernel: /^kernel --name kernel (\S+)/m,
    initrd: /^initrd --name initrd (\S+)/m,
    root: / imgurl=(\S+)/,
  };
  for (const [kind, pattern] of Object.entries(urls))
    voyage.sizes[kind] = (await fetched(address, pattern.exec(script)![1]!)).length;
  voyage.reportUrl = / muster\.report=(\S+)/.exec(script)![1]!;
  return voyage;
}

const voyages = await Promise.all(crew.macs.map(boot));
const report = async (from: string, url: string): Promise<number> => (await http(from, url, 'booting\nbooted')).status;
const told = await Promise.all(
  voyages.map(async ({ reportUrl, ...voyage }, index): Promise<Voyage> => {
    if (reportUrl === '') return voyage;
    const other = voyages.at(index - 1)!;
    const reports = [await report(other.address, reportUrl), await report(voyage.address, reportUrl)];
    return { ...voyage, reports };
  }),
);
socket.close();
process.stdout.write(JSON.stringify(told));
