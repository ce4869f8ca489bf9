import { join } from 'node:path';

/** The files of the bus below a data directory; `muster bus-config` makes them. */
export const busPlaces = (data: string) => {
  const directory = join(data, 'bus');
  const workers = join(directory, 'workers');
  return {
    directory,
    workers,
    authority: join(directory, 'ca.pem'),
    certificate: join(directory, 'nats.pem'),
    key: join(directory, 'nats.key'),
    server: join(directory, 'server.seed'),
    worker: (name: string): string => join(workers, `${name}.seed`),
    /** Files for nodes that a worker keeps. */
    files: (name: string): string => join(directory, 'files', name),
    /** Files of the daemons that a worker runs for its nodes. */
    duties: (name: string): string => join(directory, 'duties', name),
  };
};
