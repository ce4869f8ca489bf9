// A process of the light simulator: one UDP socket per BMC.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { answerPacket, type LightBmc, makeLightBmc } from './bmc.ts';
import type { LightOptions, LightQuestion, LightState } from './protocol.ts';

const bmcs: LightBmc[] = [];

async function startOne({ addresses, firstIndex, port, delay, loss }: LightOptions, place: number): Promise<void> {
  const address = addresses[place]!;
  const bmc = makeLightBmc(firstIndex + place, address);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
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
