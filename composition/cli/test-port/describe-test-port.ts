import type { Describe } from '../describe.ts'
import { examples } from '../describe.ts'
import type { TestPortOptions } from './test-port.ts'

export const describeTestPort: Describe = (program, run, context) => {
  program
    .command('test-port')
    .description('Run the contract suite of a port against your own adapter, and print what it does not keep.')
    .argument('[port]', 'a port, such as RoleStore, the name of its suite, or the file of a suite of your own')
    .argument('[module]', 'file or package that exports the function which makes your adapter')
    .option('--list', 'list all suites with their ports')
    .option('--only <text>', 'run only the cases whose title contains this text')
    .option('--timeout <seconds>', 'how long a case may take', '30')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Without a module it says what the module must export. For role-store that is openRoleStore, which returns a bench, the
store and how to close it:

  // my-roles.js
  export const openRoleStore = async ({ database }) => {
    const db = await database()
    return { store: makeMyRoleStore(db), close: () => db.close() }
  }

\`database()\` makes an SQLite database in memory with the tables of Moorage, for adapters that use them. Others ignore it.
No server and no setting is needed, and no test runner. docs/testing-a-port.md says more.
${examples('moorage test-port --list', 'moorage test-port role-store', 'moorage test-port role-store ./my-roles.js', 'moorage test-port RoleStore ./my-roles.js --only organization', 'moorage test-port ./my-port.suite.js ./my-adapter.js')}

Exit codes: 0 every case is kept, 1 one is not, 2 the suite could not be run.`,
    )
    .action((port: string | undefined, module: string | undefined, options: TestPortOptions) =>
      run(async () => (await import('./test-port.ts')).testPort(context, port, module, options)),
    )
}
