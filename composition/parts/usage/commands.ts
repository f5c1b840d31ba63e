import type { UsageCloseOptions, UsageExplainOptions, UsageMonthOptions } from './usage-commands.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson } from '../../part/describe.ts'

export const usageCommands: Describe = (program, run, context) => {
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
    .action((options: UsageCloseOptions) =>
      run(async () => (await import('./usage-commands.ts')).usageClose(context, options)),
    )

  withJson(usage.command('reopen'))
    .description('Compute a final month again, as a new provisional revision. The old one remains readable.')
    .requiredOption(...account)
    .requiredOption(...month)
    .addHelpText('after', examples('moorage usage reopen --org acme --month 2026-11'))
    .action((options: UsageMonthOptions) =>
      run(async () => (await import('./usage-commands.ts')).usageReopen(context, options)),
    )

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
      run(async () => (await import('./usage-commands.ts')).usageExplain(context, options)),
    )
}
