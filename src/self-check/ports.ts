import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { type Finding, wellOf, wrongOf } from '../core/finding.ts';
import { formatListen, type ListenAddress } from '../core/host-address.ts';
import type { Ground } from './self-check.ts';

const timeout = 5_000;

/** Whether everything that is to listen answers from here. */
export async function checkPorts({ config }: Ground): Promise<Finding[]> {
  const { listen, http, boot } = config;
  const wanted: [what: string, setting: string, addresses: readonly ListenAddress[], answers: Answers][] = [
    ['HTTPS', 'listen', listen, takesConnection],
    ['HTTP', 'http.listen', http.listen, takesConnection],
    ['boot files by HTTP', 'boot.listen', boot.listen ?? [], takesConnection],
    ['boot files by TFTP', 'boot.tftpListen', boot.tftpListen ?? [], answersTftp],
  ];
  const findings = await Promise.all(
    wanted.flatMap(([what, setting, addresses, answers]) =>
      addresses
        // Any port that was free: only the server itself knows it, and it is being asked through it.
        .filter(({ port }) => port !== 0)
        .map(async (address) => {
          const problem = await answers(reachable(address), address.port);
          const shown = `${formatListen(address)} (${setting}), ${what}`;
          return problem === undefined
            ? wellOf('ports', `${shown}: answers`)
            : wrongOf(
                'ports',
                `${shown}: ${problem}. Look whether another program has the port ("ss -lntup"), and restart muster`,
              );
        }),
    ),
  );
  return findings;
}

type Answers = (host: string, port: number) => Promise<string | undefined>;

/** An address that stands for all of this machine's. */
function reachable({ host }: ListenAddress): string {
  if (host === '0.0.0.0' || host === 'localhost') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

const takesConnection: Answers = (host, port) =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (problem: string | undefined): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(timeout, () => end('no answer'));
    socket.once('connect', () => end(undefined));
    socket.once('error', (error) => end(`no answer (${error.message})`));
  });

/** Asks for a file that does not exist; the error is an answer. */
const answersTftp: Answers = (host, port) =>
  new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    const timer = setTimeout(() => end('no answer'), timeout);
    const end = (problem: string | undefined): void => {
      clearTimeout(timer);
      socket.close();
      resolve(problem);
    };
    socket.once('message', () => end(undefined));
    socket.once('error', (error) => end(`no answer (${error.message})`));
    socket.send(Buffer.from('\0\x01muster-doctor\0octet\0', 'latin1'), port, host);
  });
