import type { CommonOptions } from '../../part/command-context.ts'
import type { AuditExportOptions } from './audit.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withConfig, withJson } from '../../part/describe.ts'

export const auditCommands: Describe = (program, run, context) => {
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
