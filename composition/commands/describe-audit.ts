import type { CommonOptions } from '../command-context.ts'
import type { Describe } from './describe.ts'
import { examples, withJson } from './command-options.ts'

export const describeAudit: Describe = (program, run, context) => {
  const audit = program.command('audit').description('The audit log.')

  withJson(audit.command('verify'))
    .description('Check with the audit key that no row was changed, put in or taken out. Exits 1 when one was.')
    .addHelpText('after', examples('moorage audit verify', 'moorage audit verify --json'))
    .action((options: CommonOptions) => run(async () => (await import('./audit-verify.ts')).auditVerify(context, options)))
}
