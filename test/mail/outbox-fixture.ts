import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { makeSqlMailOutbox, makeSqlMailQueue } from '../../adapters/sql/mail/mail-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { Mail } from '../../core/mail/ports.ts'

const start = new Date('2026-05-01T08:00:00.000Z')

/** Outbox and queue over one database, with a clock that the test moves. */
export const makeOutboxFixture = (db: SqlDatabase, secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)) => {
  let now = start
  const clock = { now: () => now }
  const trust = { isTrusted: () => true }
  const bind = makeSqlMailOutbox(db, { secretBox, clock })
  return {
    db,
    clock,
    trust,
    secretBox,
    queue: makeSqlMailQueue(db, secretBox),
    passSeconds: (seconds: number) => void (now = new Date(now.getTime() + seconds * 1000)),
    later: (seconds: number) => new Date(now.getTime() + seconds * 1000),
    post: (...mails: readonly Mail[]) =>
      db.transaction(async (tx) => {
        for (const mail of mails) await bind(tx).post(mail)
      }),
    bind,
    rows: () => db.query<Readonly<Record<string, unknown>>>((k) => k('mail_outbox').orderBy('id').select('*')),
  }
}
