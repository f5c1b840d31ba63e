import { randomUUID } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { Knex } from 'knex'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Mail, MailOutbox } from '../../../core/kernel/mail.ts'
import type { SealedPlace, Secret, SecretBox } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { ClaimedMail, MailQueue } from '../../../core/mail/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'

const SealedMail = t.intersection([
  t.type({ to: t.string, subject: t.string, paragraphs: t.readonlyArray(t.string) }),
  t.partial({ action: t.type({ label: t.string, url: t.string }) }),
])

/** Returns a mail as the text to seal, including the link. */
const mailToText = ({ to, subject, paragraphs, action }: Mail): Secret =>
  secret(
    toWireJson({
      to,
      subject,
      paragraphs,
      ...definedFields({ action: action && { label: action.label, url: action.url.reveal() } }),
    }),
  )

/** Throws if the text was not made by `mailToText`. */
const mailOfText = (text: Secret, accountId: AccountId | undefined): Mail => {
  const decoded = SealedMail.decode(JSON.parse(text.reveal()))
  if (isLeft(decoded)) throw new Error('A sealed mail has an unknown form.')
  const { to, subject, paragraphs, action } = decoded.right
  return {
    to,
    subject,
    paragraphs,
    ...definedFields({ action: action && { label: action.label, url: secret(action.url) }, accountId }),
  }
}

/** Returns the place of a sealed mail. */
const mailPlace = (ref: string, accountId: number | undefined): SealedPlace => ({
  table: 'mail_outbox',
  column: 'sealed',
  tenantId: accountId ?? 0,
  rowRef: ref,
})

type InsertBind = 'ref' | 'accountId' | 'sealed' | 'at'

/** Adds mail in the transaction of `runner`. The whole mail is sealed: a link in it may be a credential. */
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
  // Of several instances that read the row as due, one changes it.
  take: db.prepare((k, p: (n: 'id' | 'seenAttempts' | 'seenNotBefore' | 'attempts' | 'until') => Knex.Value) =>
    k('mail_outbox')
      .where({ id: p('id'), attempts: p('seenAttempts'), not_before: p('seenNotBefore') })
      .update({ attempts: p('attempts'), not_before: p('until') }),
  ),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('mail_outbox').where('id', p('id')).delete()),
  postpone: db.prepare((k, p: (n: 'id' | 'attempts' | 'at' | 'error') => Knex.Value) =>
    k('mail_outbox')
      .where({ id: p('id'), attempts: p('attempts') })
      .update({ not_before: p('at'), last_error: p('error') }),
  ),
})

/** The queue on SQL. A claim moves the row's due time and counts the attempt in one conditional update. */
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
