import { type BootSettings, type BootSource, HttpListener, listenTftp } from '../boot/index.ts';
import { canonicalAddress } from '../access/addresses.ts';
import { Fault } from '../core/errors.ts';
import { formatListen } from '../core/host-address.ts';
import type { Logger } from '../core/log.ts';

/** Firmware loads its first file by TFTP, and all others come by HTTP. */
export const servesBoots = ({ listen = [], tftpListen = [] }: BootSettings): boolean =>
  listen.length > 0 && tftpListen.length > 0;

/** Serves machines that boot where the worker's settings say; returns what ends that. */
export async function openBootListeners(
  { listen = [], tftpListen = [], files, maxConnectionsPerAddress }: BootSettings,
  source: BootSource,
  log: Logger,
): Promise<() => Promise<void>> {
  if (files === 'nginx')
    throw new Fault('invalid', 'A worker sends boot files itself. Remove the setting boot.files here.');
  const opened: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((listener) => listener.close()));
  };
  const services = { source, log, maxConnectionsPerAddress, countedAs: canonicalAddress };
  try {
    let httpPort = 80;
    for (const address of listen) {
      const listener = await HttpListener.listen(address, services);
      if (opened.push(listener) === 1) httpPort = listener.address.port;
      log.info(`boot files are served at http://${formatListen(listener.address)}/`);
    }
    for (const address of tftpListen) {
      const listener = await listenTftp(address, { ...services, httpPort: () => httpPort });
      opened.push(listener);
      log.info(`boot files are served by TFTP at ${formatListen({ ...address, port: listener.port })}`);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}
