// Searches as muster does, from within a network namespace, and prints what it finds as JSON. The question comes as JSON.
import { outletsOf } from '../../../src/protocols/multicast/outlets.ts';
import { findServices } from '../../../src/protocols/slp/search.ts';

const { interfaces, ...question } = JSON.parse(process.argv[2]!) as {
  interfaces?: string[];
  types: string[];
  agents?: string[];
  milliseconds: number;
};
const found = await findServices({ ...question, outlets: outletsOf(interfaces) }, new AbortController().signal);
const plain = found.map((service) => ({ ...service, attributes: Object.fromEntries(service.attributes) }));
process.stdout.write(JSON.stringify(plain));
