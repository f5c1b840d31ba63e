import type { Command } from 'commander'
import type { CreateOptions } from './backup/create.ts'
import type { RestoreOptions } from './backup/restore.ts'
import type { ReadOptions } from './backup/verify.ts'
import type { CompactOptions } from './compact.ts'
import type { CommonOptions } from '../../part/command-context.ts'
import type { ResetOptions, SeedOptions } from './demo/demo.ts'
import type { Describe } from '../../part/describe.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { examples, withConfig, withJson } from '../../part/describe.ts'
import type { BundleOptions } from './support-bundle/support-bundle.ts'
import type { OpenApiOptions } from './deployment.ts'
import type { ServeOptions } from './serve.ts'
import { describeKeys } from './keys/describe-keys.ts'
import type { TestPortOptions } from './test-port/test-port.ts'

const describeTestPort: Describe<RuntimeContext> = (program, run, context) => {
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
      run(async () => (await import('./test-port/test-port.ts')).testPort(context, port, module, options)),
    )
}

const describeService: Describe<RuntimeContext> = (program, run, context) => {
  withConfig(program.command('serve'))
    .description('Bring the schema up to date, then listen until SIGTERM, SIGINT or SIGHUP.')
    .option('--no-migrate', 'leave the schema alone (also MOORAGE_MIGRATE=false); refuses to start when it is behind')
    .option(
      '--accept-key-ring',
      'start with a key ring that is not that of the database, once, after the right one was lost for good',
    )
    .addHelpText(
      'after',
      examples(
        'moorage serve',
        'moorage serve --config /etc/moorage.yaml',
        'MOORAGE_DATABASE_URL=mysql://moorage:secret@db:3306/moorage moorage serve',
      ) +
        '\n\nThe first start makes the data folder, the key ring and a site admin, whose generated ' +
        'password is printed once.',
    )
    .action((options: ServeOptions) => run(async () => (await import('./serve.ts')).serve(context, options)))

  withJson(program.command('openapi'))
    .description('Print the OpenAPI document of this deployment; it is JSON, with or without --json.')
    .option('--tag <name>', 'only the operations with this tag, for a small generated client')
    .addHelpText(
      'after',
      examples(
        'moorage openapi > openapi.json',
        'moorage openapi --tag Authorization > authorization.json',
        'MOORAGE_DEPLOYMENT_TYPE=VendorHosted moorage openapi',
      ),
    )
    .action((options: OpenApiOptions) =>
      run(async () => (await import('./deployment.ts')).printOpenApi(context, options)),
    )

  withJson(program.command('doctor'))
    .description(
      'Check Node, data folder, key ring, certificate, database, clock, message bus, mail and helm, and ' +
        'say what is wrong in plain words.',
    )
    .addHelpText(
      'after',
      examples('moorage doctor', 'moorage doctor --json') + '\n\nExits 1 when something must be repaired.',
    )
    .action((options: CommonOptions) => run(async () => (await import('./doctor/doctor.ts')).doctor(context, options)))

  withJson(program.command('support-bundle'))
    .description(
      'Write versions, masked settings, what the doctor found, migrations, metrics and the last lines of the log to ' +
        'one file that can be sent to a stranger.',
    )
    .option('--output <file>', 'the file to write; it must not exist (default: moorage-support-TIME.tar.gz)')
    .option('--log <file>', 'the log of the service in JSON, or - for stdin')
    .option('--lines <number>', 'how many of the last lines of the log', '2000')
    .addHelpText(
      'after',
      examples(
        'moorage support-bundle --log /var/log/moorage.log',
        'journalctl -u moorage -o cat -n 5000 | moorage support-bundle --log -',
      ) + '\n\nNo row of the database is in it, and no password, key or token. Names of clusters are numbers.',
    )
    .action((options: BundleOptions) =>
      run(async () => (await import('./support-bundle/support-bundle.ts')).supportBundle(context, options)),
    )
}

const describeMigrate: Describe<RuntimeContext> = (program, run, context) => {
  const migrate = program.command('migrate').description('Schema migrations of the database.')

  withJson(migrate.command('up'))
    .description(
      'Apply what is missing. Waits while another instance does it. A step that removes what an older release uses ' +
        'is left for later while an instance of such a release is alive.',
    )
    .option('--force', 'remove it all the same: instances of older releases fail from then on')
    .addHelpText('after', examples('moorage migrate up', 'moorage migrate up --json'))
    .action((options: CommonOptions & { readonly force?: boolean }) =>
      run(async () => (await import('./migrate.ts')).migrateUp(context, options)),
    )

  withJson(migrate.command('status'))
    .description('Say which migrations are applied and which are missing. Exits 0 in both cases.')
    .addHelpText('after', examples('moorage migrate status --json'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateStatus(context, options)))

  withJson(migrate.command('plan'))
    .description(
      'Say what `up` would do, without doing it: each statement with the table, about how many rows it has, and ' +
        'what waits.',
    )
    .addHelpText('after', examples('moorage migrate plan'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migratePlan(context, options)))

  withJson(migrate.command('unlock'))
    .description('Take away the lock of a migration whose process died. Only when no other process migrates.')
    .addHelpText('after', examples('moorage migrate unlock'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateUnlock(context, options)))
}

const describeDatabase: Describe<RuntimeContext> = (program, run, context) => {
  const database = program.command('database').description('The file of an SQLite database.')

  withJson(database.command('compact'))
    .description('Return the unused space of the SQLite file to the file system. The service must be stopped.')
    .option('--dry-run', 'say how much is unused and how much free space it takes, and change nothing')
    .addHelpText(
      'after',
      examples('moorage database compact --dry-run', 'moorage database compact') +
        '\n\nIt takes free space of up to twice the size of the file. An interruption leaves the database as it was.',
    )
    .action((options: CompactOptions) =>
      run(async () => (await import('./compact.ts')).compactDatabase(context, options)),
    )
}

const describeConfig: Describe<RuntimeContext> = (program, run, context) => {
  const config = program.command('config').description('Validate, print or describe the settings.')

  withJson(config.command('check'))
    .description(
      'Validate the settings and say which plugins and routes this deployment will have. Touches no database.',
    )
    .addHelpText('after', examples('moorage config check', 'moorage config check --config moorage.yaml --json'))
    .action((options: CommonOptions) =>
      run(async () => (await import('./deployment.ts')).checkConfig(context, options)),
    )

  withJson(config.command('print'))
    .description('Print every setting with its value and where it came from; secrets are masked.')
    .addHelpText('after', examples('moorage config print', 'moorage config print --json | jq .settings.listen'))
    .action((options: CommonOptions) => run(async () => (await import('./config.ts')).printConfig(context, options)))

  withJson(config.command('schema'))
    .description('Print the JSON Schema of the settings file: every setting with its default and meaning.')
    .addHelpText('after', examples('moorage config schema > moorage.schema.json'))
    .action(() => run(async () => (await import('./config.ts')).printConfigSchema(context)))
}

const describeBackup: Describe<RuntimeContext> = (program, run, context) => {
  const backup = program.command('backup').description('Back up a running deployment, and restore it.')

  withJson(backup.command('create'))
    .description('Write the database, the files and the sealed key ring of this deployment, which may be running.')
    .argument('<file>', 'the archive to write; it must not exist')
    .option('--passphrase-file <file>', 'file with the passphrase that seals the key ring, - for stdin')
    .option('--no-key-ring', 'leave the key ring out: you keep a copy of it elsewhere')
    .addHelpText(
      'after',
      examples(
        'moorage backup create /backup/monday.tar --passphrase-file /etc/moorage/passphrase',
        'moorage backup create /backup/monday.tar --no-key-ring',
      ) + '\n\nThe sealed key ring is written beside the archive, as FILE.keyring. See docs/backup.md.',
    )
    .action((file: string, options: CreateOptions) =>
      run(async () => (await import('./backup/create.ts')).createBackup(context, file, options)),
    )

  const reading = (name: string): Command =>
    withJson(backup.command(name))
      .argument('<file>', 'the archive')
      .option('--key-ring <file>', 'the sealed key ring; FILE.keyring unless told')
      .option('--passphrase-file <file>', 'file with the passphrase that opens the sealed key ring, - for stdin')

  reading('verify')
    .description('Check every byte of an archive, its schema and its key ring. Needs no service and no database.')
    .addHelpText('after', examples('moorage backup verify /backup/monday.tar'))
    .action((file: string, options: ReadOptions) =>
      run(async () => (await import('./backup/verify.ts')).verifyBackup(context, file, options)),
    )

  reading('restore')
    .option('--sign-in <file>', 'file with a login in its first line and a password in the second: tried at the end')
    .description('Restore an archive into the empty database of this deployment, SQLite, MySQL or MariaDB.')
    .addHelpText(
      'after',
      examples(
        'moorage backup restore /backup/monday.tar --passphrase-file /etc/moorage/passphrase',
        'MOORAGE_DATABASE_URL=mysql://moorage:secret@db/moorage moorage backup restore /backup/monday.tar',
      ),
    )
    .action((file: string, options: RestoreOptions) =>
      run(async () => (await import('./backup/restore.ts')).restoreBackup(context, file, options)),
    )
}

const describeDemo: Describe<RuntimeContext> = (program, run, context) => {
  const demo = program
    .command('demo')
    .description('A demonstration: a vendor, customers, clusters, contracts and usage.')

  withJson(demo.command('seed'))
    .description('Fill an empty database with the demonstration, and print who can sign in.')
    .option('--hub <file>', 'kubeconfig of a hub, such as that of npm run test-hub: HUB')
    .option('--spoke <file>', 'kubeconfig of a cluster that becomes a spoke of the hub: SPOKE')
    .option(
      '--identity-provider <url>',
      'an issuer of OpenID Connect, or a directory as ldaps://HOST/BASE, that people sign in with',
    )
    .addHelpText(
      'after',
      examples(
        'MOORAGE_DATA_DIR=demo moorage demo seed',
        'MOORAGE_DATA_DIR=demo moorage demo seed --identity-provider https://login.example.com/realms/staff',
        'MOORAGE_DATA_DIR=demo MOORAGE_DEPLOYMENT_TYPE=VendorHosted MOORAGE_BILLING_ENABLED=true moorage demo seed',
        'MOORAGE_DATA_DIR=demo MOORAGE_KUBERNETES_ALLOW=public,private,loopback moorage demo seed --hub $HUB --spoke $SPOKE',
      ),
    )
    .action((options: SeedOptions) => run(async () => (await import('./demo/demo.ts')).seedDemo(context, options)))

  withJson(demo.command('reset'))
    .description('Empty a database that has nothing but the demonstration. The service must not run.')
    .option('--keep-hub', 'leave what is on the hub and its spoke, for a hub that is gone')
    .addHelpText('after', examples('MOORAGE_DATA_DIR=demo moorage demo reset'))
    .action((options: ResetOptions) => run(async () => (await import('./demo/demo.ts')).resetDemo(context, options)))
}

/** The commands of the runtime. */
export const runtimeCommands: readonly Describe<RuntimeContext>[] = [
  describeService,
  describeMigrate,
  describeKeys,
  describeDatabase,
  describeBackup,
  describeDemo,
  describeConfig,
  describeTestPort,
]
