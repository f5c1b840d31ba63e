import type { Knex } from 'knex'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { SecretBox } from '../../../core/kernel/secret.ts'
import type { ClaimedMail, MailQueue } from '../../../core/mail/ports.ts'
import type { SqlDatabase } from '../statement.ts'
import { mailOfText } from './mail-json.ts'
import { mailPlace } from './mail-outbox.ts'

interface MailRow {
  readonly id: number | string
  readonly ref: string
  readonly account_id: number | string | null
  readonly sealed: Uint8Array
  readonly attempts: number | string
  readonly not_before: number | string
  readonly created_at: number | string
}

const statements = (db: SqlDatabase) => ({
  due: db.prepare((k, p: (n: 'now' | 'limit') => Knex.Value & number) =>
    k('mail_outbox')
      .where('not_before', '<=', p('now'))
      .select('id', 'ref', 'account_id', 'sealed', 'attempts', 'not_before', 'created_at')
      .orderBy(['not_before', 'id'])
      .limit(p('limit')),
  ),
  // Of several instances that saw the row due, one changes it.
  take: db.prepare((k, p: (n: 'id' | 'seenAttempts' | 'seenNotBefore' | 'attempts' | 'until') => Knex.Value) =>
    k('mail_outbox')
      .where({ id: p('id'), attempts: p('seenAttempts'), not_before: p('seenNotBefore') })
      .update({ attempts: p('attempts'), not_before: p('until') }),
  ),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('mail_outbox').where('id', p('id')).delete()),
  postpone: db.prepare((k, p: (n: 'id' | 'attempts' | 'at' | 'error') => Knex.Value) =>
    k('mail_outbox').where({ id: p('id'), attempts: p('attempts') }).update({ not_before: p('at'), last_error: p('error') }),
  ),
})

/** The queue on SQL. A claim moves the row's time and counts the attempt in one conditional update. */
export const makeSqlMailQueue = (db: SqlDatabase, secretBox: SecretBox): MailQueue => {
  const s = statements(db)
  const claimed = (row: MailRow): ClaimedMail => {
    const accountId = row.account_id === null ? undefined : (Number(row.account_id) as AccountId)
    return {
      id: Number(row.id),
      ref: row.ref,
      accountId,
      attempts: Number(row.attempts) + 1,
      createdAt: new Date(Number(row.created_at)),
      open: async () => mailOfText(await secretBox.open(row.sealed, mailPlace(row.ref, accountId)), accountId),
    }
  }
  return {
    async claim(limit, now, leasedUntil) {
      const mine: ClaimedMail[] = []
      for (const row of await db.all<MailRow>(s.due, { now: now.getTime(), limit })) {
        const mail = claimed(row)
        const taken = await db.run(s.take, {
          id: mail.id,
          seenAttempts: Number(row.attempts),
          seenNotBefore: Number(row.not_before),
          attempts: mail.attempts,
          until: leasedUntil.getTime(),
        })
        if (taken.affected === 1) mine.push(mail)
      }
      return mine
    },
    async remove({ id }) {
      await db.run(s.remove, { id })
    },
    async postpone({ id, attempts }, notBefore, errorClass) {
      await db.run(s.postpone, { id, attempts, at: notBefore.getTime(), error: errorClass.slice(0, 64) })
    },
  }
}
