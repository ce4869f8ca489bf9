// Imports a module and prints the addresses of all that were loaded with it, as JSON.
import { registerHooks } from 'node:module';

const loaded = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
await import(process.argv[2]);
process.stdout.write(JSON.stringify(loaded), () => process.exit(0));
