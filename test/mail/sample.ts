import { accountIds } from '../organizations/sample.ts'
import { defineSample } from '../support/part-sample.ts'

/** The mails to the accounts of a tenant that are to be sent. */
export const sample = defineSample({
  part: 'mail',
  make: async () => undefined,
  tables: (_, tenant) => ({ mail_outbox: { account_id: accountIds(tenant) } }),
})
