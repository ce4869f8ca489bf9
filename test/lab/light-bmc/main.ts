// A process of the light simulator: one UDP socket per BMC.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { answerPacket, type LightBmc, makeLightBmc } from './bmc.ts';
import { LightSerial } from './serial.ts';
import type { LightOptions, LightQuestion, LightState } from './protocol.ts';

const bmcs: LightBmc[] = [];

async function startOne(options: LightOptions, place: number): Promise<void> {
  const { addresses, firstIndex, port, loss } = options;
  const delay = options.delay + options.delayStep * (firstIndex + place);
  const address = addresses[place]!;
  const bmc = makeLightBmc(firstIndex + place, address);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  if (options.lines !== undefined) addSerial(bmc, socket, options.lines);
  socket.on('message', (packet, { address: peer, port: peerPort }) => {
    const reply = answerPacket(bmc, packet);
    if (!reply || (loss > 0 && Math.random() * 100 < loss)) return;
    if (delay > 0) setTimeout(() => socket.send(reply, peerPort, peer), delay);
    else socket.send(reply, peerPort, peer);
  });
  socket.bind(port, address);
  await once(socket, 'listening');
  bmcs.push(bmc);
}

const serialTick = 250;

/** A machine that prints what is typed, and lines of its own. */
function addSerial(bmc: LightBmc, socket: Socket, interval: number): void {
  let peer: { readonly port: number; readonly address: string } | undefined;
  socket.on('message', (_packet, sender) => (peer = sender));
  const serial: LightSerial = new LightSerial(
    (packet) => peer && socket.send(packet, peer.port, peer.address),
    () => performance.now(),
    (typed) => serial.print(typed.replaceAll('\r', '\r\n')),
  );
  bmc.serial = serial;
  let lines = 0;
  const line = (): void => serial.print(`line ${++lines} of machine ${bmc.index}\r\n`);
  // Not all at the same moment.
  if (interval > 0) setTimeout(() => setInterval(line, interval), Math.random() * interval);
  setTimeout(() => setInterval(() => serial.tick(), serialTick), Math.random() * serialTick);
}

async function start(options: LightOptions): Promise<void> {
  for (let place = 0; place < options.addresses.length; place++) await startOne(options, place);
}

const stateOf = ({ power, controls, sessions, boot }: LightBmc): LightState => ({
  power: power ? 'on' : 'off',
  controls,
  openSessions: [...sessions.values()].filter(({ isOpen }) => isOpen).length,
  bootFlags: boot.has(5) ? [...boot.get(5)!] : null,
});

async function ask(question: LightQuestion): Promise<unknown> {
  if (question.ask === 'start') return start(question.options);
  if (question.ask === 'poweredOn') return bmcs.filter(({ power }) => power).length;
  return stateOf(bmcs[question.place]!);
}

process.on('message', (question: LightQuestion) => {
  ask(question).then(
    (value) => process.send!({ id: question.id, value }),
    (error: Error) => process.send!({ id: question.id, error: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));
