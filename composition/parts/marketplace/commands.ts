import type { CommonOptions } from '../../part/command-context.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson } from '../../part/describe.ts'
import type { InstallerCreateOptions, MeteringRecordOptions } from './marketplace.ts'

const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const storeWords =
  '\nThese commands work on the store of this deployment, with its settings. The service may run at the same time.\n'

/** Describes the commands on installers and subscriptions of a marketplace. */
export const marketplaceCommands: Describe = (program, run, context) => {
  const marketplace = program
    .command('marketplace')
    .description('Installers and subscriptions of a cloud marketplace, on marketplace deployments.')
    .addHelpText('after', storeWords)
  const installers = marketplace.command('installers').description('Installers, which customers run once.')

  withJson(installers.command('create'))
    .description('Create an installer, and build its archive: scripts and values for the cluster of the customer.')
    .option('--account <name>', 'the account that gets the contracts (default: the organization that takes the claim)')
    .option('--product <name=features>', 'a contract that begins when the installer is bound; may be repeated', several)
    .option('--days <days>', 'length of the contracts', '365')
    .option('--valid-days <days>', 'for how long the installer can be bound', '90')
    .option('--contact <address>', 'mail address that is notified when the installer is bound')
    .option('--chart <reference>', 'the chart that the archive installs, as oci://HOST/PATH/NAME')
    .option('--chart-version <version>', 'the version of the chart')
    .option('--values <file>', 'YAML file of values for the chart')
    .addHelpText(
      'after',
      examples(
        'moorage marketplace installers create --account acme --product db=backup,monitoring --contact ' +
          'ops@acme.example',
        'moorage marketplace installers create --json',
      ),
    )
    .action((options: InstallerCreateOptions) =>
      run(async () => (await import('./marketplace.ts')).installersCreate(context, options)),
    )

  withJson(installers.command('list'))
    .description('List the installers, the newest first.')
    .addHelpText('after', examples('moorage marketplace installers list'))
    .action((options: CommonOptions) =>
      run(async () => (await import('./marketplace.ts')).installersList(context, options)),
    )

  const subscriptions = marketplace.command('subscriptions').description('What customers have bought.')

  withJson(subscriptions.command('list'))
    .description('List the subscriptions, the newest first.')
    .addHelpText('after', examples('moorage marketplace subscriptions list --json'))
    .action((options: CommonOptions) =>
      run(async () => (await import('./marketplace.ts')).subscriptionsList(context, options)),
    )

  withJson(subscriptions.command('show'))
    .argument('<id>', 'id of the subscription')
    .description('Show a subscription with its history.')
    .addHelpText('after', examples('moorage marketplace subscriptions show 0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44'))
    .action((id: string, options: CommonOptions) =>
      run(async () => (await import('./marketplace.ts')).subscriptionsShow(context, options, id)),
    )

  withJson(subscriptions.command('revoke'))
    .argument('<id>', 'id of the subscription')
    .description('Revoke a subscription: its contracts and their licenses end at once.')
    .addHelpText('after', examples('moorage marketplace subscriptions revoke 0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44'))
    .action((id: string, options: CommonOptions) =>
      run(async () => (await import('./marketplace.ts')).subscriptionsRevoke(context, options, id)),
    )

  const metering = marketplace.command('metering').description('The record of usage that was reported to the provider.')
  const recordOptions = (command: ReturnType<typeof metering.command>, outcomes: string) =>
    withJson(command)
      .option('--subscription <id>', 'only usage of this subscription')
      .option('--since <time>', 'only what is at or after this RFC 3339 time')
      .option('--until <time>', 'only what is before this RFC 3339 time')
      .option('--outcome <outcome>', `only with this outcome: ${outcomes}`)

  recordOptions(metering.command('usage'), 'sent, accepted, refused or unknown')
    .description('List the usage that was reported, the newest first, without an end.')
    .addHelpText('after', examples('moorage marketplace metering usage --outcome unknown'))
    .action((options: MeteringRecordOptions) =>
      run(async () => (await import('./marketplace.ts')).meteringUsage(context, options)),
    )

  recordOptions(metering.command('calls'), 'accepted, refused, unknown or failed')
    .description('List the calls to the provider, the newest first, without an end.')
    .addHelpText('after', examples('moorage marketplace metering calls --since 2026-11-21T00:00:00Z --json'))
    .action((options: MeteringRecordOptions) =>
      run(async () => (await import('./marketplace.ts')).meteringCalls(context, options)),
    )

  withJson(marketplace.command('signing-key'))
    .description('Print the public key that verifies archives of installers, in PEM; it is made at its first use.')
    .addHelpText('after', examples('moorage marketplace signing-key > public-key.pem'))
    .action((options: CommonOptions) =>
      run(async () => (await import('./marketplace.ts')).marketplaceSigningKey(context, options)),
    )
}
