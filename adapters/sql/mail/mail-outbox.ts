import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { MailOutbox } from '../../../core/kernel/mail.ts'
import type { SealedPlace, SecretBox } from '../../../core/kernel/secret.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { mailToText } from './mail-json.ts'

/** Where a sealed mail stands. */
export const mailPlace = (ref: string, accountId: number | undefined): SealedPlace => ({
  table: 'mail_outbox',
  column: 'sealed',
  tenantId: accountId ?? 0,
  rowRef: ref,
})

type InsertBind = 'ref' | 'accountId' | 'sealed' | 'at'

/** Puts mail into the transaction that `runner` belongs to, sealed as a whole: a link in it may be a credential. */
export const makeSqlMailOutbox = (
  db: SqlDatabase,
  deps: { readonly secretBox: SecretBox; readonly clock: Clock },
): ((runner: SqlRunner) => MailOutbox) => {
  const insert = db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('mail_outbox').insert({
      ref: p('ref'),
      account_id: p('accountId'),
      sealed: p('sealed'),
      not_before: p('at'),
      created_at: p('at'),
    }),
  )
  return (runner) => ({
    async post(mail) {
      const ref = randomUUID()
      const sealed = await deps.secretBox.seal(mailToText(mail), mailPlace(ref, mail.accountId))
      await runner.run(insert, { ref, accountId: mail.accountId ?? null, sealed, at: deps.clock.now().getTime() })
    },
  })
}
