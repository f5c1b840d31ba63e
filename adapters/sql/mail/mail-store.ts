import { randomUUID } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { ClaimedMail, Mail, MailOutbox, MailQueue } from '../../../core/mail/ports.ts'
import type { SealedPlace, Secret, SecretBox } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import { computed, int, long, nullable, pick, selectedAs, without } from '../kit/columns.ts'
import { databaseNow } from '../kit/fragments.ts'
import { newRow, values } from '../kit/values.ts'
import { mailOutbox } from '../tables/mail.ts'
import type { Row } from '../kit/columns.ts'

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

/** Adds mail in the transaction of `runner`. The whole mail is sealed: a link in it may be a credential. */
export const makeSqlMailOutbox = (
  db: SqlDatabase,
  deps: { readonly secretBox: SecretBox; readonly clock: Clock },
): ((runner: SqlRunner) => MailOutbox) => {
  const insert = db.prepare({ ...pick(mailOutbox, 'ref', 'accountId', 'sealed'), at: mailOutbox.notBefore }, (k, p) =>
    k('mail_outbox').insert(
      newRow(mailOutbox, { ref: p.ref, accountId: p.accountId, sealed: p.sealed, notBefore: p.at, createdAt: p.at }),
    ),
  )
  return (runner) => ({
    async post(mail) {
      const ref = randomUUID()
      const sealed = await deps.secretBox.seal(mailToText(mail), mailPlace(ref, mail.accountId))
      await runner.run(insert, { ref, accountId: mail.accountId, sealed, at: deps.clock.now() })
    },
  })
}

const mailRow = without(mailOutbox, 'lastError')

const statements = (db: SqlDatabase) => ({
  due: db.prepare({ now: mailOutbox.notBefore, limit: int() }, mailRow, (k, p) =>
    k('mail_outbox').where('not_before', '<=', p.now).orderBy(['not_before', 'id']).limit(p.limit),
  ),
  // Of several instances that read the row as due, one changes it.
  take: db.prepare(
    {
      ...pick(mailOutbox, 'id', 'attempts'),
      seenAttempts: mailOutbox.attempts,
      seenNotBefore: mailOutbox.notBefore,
      until: mailOutbox.notBefore,
    },
    (k, p) =>
      k('mail_outbox')
        .where(values(mailOutbox, { id: p.id, attempts: p.seenAttempts, notBefore: p.seenNotBefore }))
        .update(values(mailOutbox, { attempts: p.attempts, notBefore: p.until })),
  ),
  lag: db.prepare(
    {},
    {
      count: selectedAs(long()),
      age: computed(nullable(long()), `${databaseNow(db.dialect)} - min(created_at)`),
    },
    (k) => k('mail_outbox').count({ count: '*' }),
  ),
  remove: db.prepare({ id: mailOutbox.id }, (k, p) => k('mail_outbox').where('id', p.id).delete()),
  postpone: db.prepare(
    { ...pick(mailOutbox, 'id', 'attempts'), at: mailOutbox.notBefore, error: mailOutbox.lastError },
    (k, p) =>
      k('mail_outbox')
        .where(values(mailOutbox, { id: p.id, attempts: p.attempts }))
        .update(values(mailOutbox, { notBefore: p.at, lastError: p.error })),
  ),
})

/** The queue on SQL. A claim moves the row's due time and counts the attempt in one conditional update. */
export const makeSqlMailQueue = (db: SqlDatabase, secretBox: SecretBox): MailQueue => {
  const s = statements(db)
  const claimed = (row: Row<typeof mailRow>): ClaimedMail => {
    const { accountId } = row
    return {
      id: row.id,
      ref: row.ref,
      accountId,
      attempts: row.attempts + 1,
      createdAt: row.createdAt,
      open: async () => mailOfText(await secretBox.open(row.sealed, mailPlace(row.ref, accountId)), accountId),
    }
  }
  return {
    async claim(limit, now, leasedUntil) {
      const mine: ClaimedMail[] = []
      for (const row of await db.all(s.due, { now, limit })) {
        const mail = claimed(row)
        const taken = await db.run(s.take, {
          id: mail.id,
          seenAttempts: row.attempts,
          seenNotBefore: row.notBefore,
          attempts: mail.attempts,
          until: leasedUntil,
        })
        if (taken.affected === 1) mine.push(mail)
      }
      return mine
    },
    async remove({ id }) {
      await db.run(s.remove, { id })
    },
    async postpone({ id, attempts }, notBefore, errorClass) {
      await db.run(s.postpone, { id, attempts, at: notBefore, error: errorClass.slice(0, 64) })
    },
    async lag() {
      const row = await db.first(s.lag, {})
      return { count: row?.count ?? 0, oldestSeconds: Math.max(0, row?.age ?? 0) / 1000 }
    },
  }
}
