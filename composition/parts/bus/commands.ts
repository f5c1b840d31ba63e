import type { BusInitOptions } from './init.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson } from '../../part/describe.ts'

export const busCommands: Describe = (program, run, context) => {
  const bus = program
    .command('bus')
    .description('The NATS message bus that several instances, browsers and command lines share.')

  withJson(bus.command('init'))
    .description(
      'Make the keys of the bus, once, and print the configuration of a nats-server that goes by them. ' +
        'Asked again, it prints the same keys.',
    )
    .option('--listen <address>', 'where nats-server listens for clients', '0.0.0.0:4222')
    .option('--websocket <address>', 'where it listens for browsers', '0.0.0.0:8222')
    .option('--store <folder>', 'folder in which it keeps accounts and streams', '/var/lib/nats')
    .addHelpText(
      'after',
      `
The keys stay in the database, sealed; what is printed holds no secret. Then:
  1. moorage bus init > nats.conf
  2. nats-server -c nats.conf
  3. MOORAGE_BUS_URL=nats://127.0.0.1:4222 moorage serve
  4. moorage doctor                               says whether the two know each other
Browsers reach the websocket at the path /bus of Moorage's own domain; docs/message-bus.md tells how.
${examples('moorage bus init > nats.conf', 'moorage bus init --store ./nats --listen 127.0.0.1:4222', 'moorage bus init --json')}`,
    )
    .action((options: BusInitOptions) => run(async () => (await import('./init.ts')).busInit(context, options)))
}
