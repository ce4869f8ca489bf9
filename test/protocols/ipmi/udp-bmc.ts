import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { answerPacket, type LightBmc, makeLightBmc } from '../../lab/light-bmc/bmc.ts';

/** A light BMC on a real socket of this process. */
export interface UdpBmc extends AsyncDisposable {
  readonly port: number;
  readonly socket: Socket;
  readonly bmc: LightBmc;
  /** Ports the packets came from, one for each packet. */
  readonly senders: number[];
}

export async function startUdpBmc(
  address: string,
  answer: (bmc: LightBmc, packet: Buffer) => Buffer | undefined = answerPacket,
): Promise<UdpBmc> {
  const bmc = makeLightBmc(0, address);
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const senders: number[] = [];
  socket.on('message', (packet, sender) => {
    senders.push(sender.port);
    const reply = answer(bmc, packet);
    if (reply) socket.send(reply, sender.port, sender.address);
  });
  socket.bind(0, address);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    socket,
    bmc,
    senders,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}
