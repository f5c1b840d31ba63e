import type { ExecutionContext } from 'ava'
import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { eachDatabase } from '../support/databases.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import { newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { makeSecretBox } from '../../adapters/security/secret-box.ts'
import { makeSqlMailOutbox, makeSqlMailQueue } from '../../adapters/sql/mail/mail-store.ts'
import { mailTo } from './mails.ts'
import { outboxSuite } from './outbox.suite.ts'
import { makeOutboxWorld } from './outbox-world.ts'

const onEach = (title: string, body: (t: ExecutionContext, world: ReturnType<typeof makeOutboxWorld>, db: SqlDatabase) => Promise<void>): void => {
  for (const database of eachDatabase())
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await body(t, makeOutboxWorld(db), db)
      } finally {
        await db.close()
      }
    })
}

const account = async (db: SqlDatabase): Promise<UserId> => {
  await db.query((k) => k('accounts').insert({ kind: 'user', name: 'ada', lower_name: 'ada', created_at: 0 }))
  const [row] = await db.query<{ id: number }>((k) => k('accounts').select('id'))
  return Number(row?.id) as UserId
}

for (const database of eachDatabase())
  outboxSuite(database.name, async () => {
    const db = await database.open()
    const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)
    const bind = makeSqlMailOutbox(db, { secretBox, clock: systemClock })
    return { queue: makeSqlMailQueue(db, secretBox), transaction: (work) => db.transaction((tx) => work(bind(tx))), close: () => db.close() }
  })

onEach('neither address nor subject nor link can be read in the table', async (t, world) => {
  await world.post(mailTo('ada@example.org', { subject: 'Distinctive subject', paragraphs: ['Distinctive paragraph'] }))
  const text = (await world.rows())
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n')
  t.true(text.length > 100)
  for (const told of ['ada@example.org', 'Distinctive', 'the-credential', 'platform.example']) t.false(text.includes(told), told)
})

onEach('sealed content that is moved to another row does not open', async (t, world, db) => {
  await world.post(mailTo('ada@example.org'), mailTo('eve@example.org'))
  const [first, second] = await world.rows()
  await db.query((k) => k('mail_outbox').where('id', second?.['id'] as number).update({ sealed: first?.['sealed'] as Buffer }))
  const claimed = await world.queue.claim(10, world.clock.now(), world.later(120))
  t.is((await claimed[0]?.open())?.to, 'ada@example.org')
  await t.throwsAsync(async () => claimed[1]?.open())
})

onEach('mail of an account goes with the account', async (t, world, db) => {
  const accountId = await account(db)
  await world.post(mailTo('ada@example.org', { accountId }), mailTo('eve@example.org'))
  await db.query((k) => k('accounts').where('id', accountId).delete())
  t.is((await world.rows()).length, 1)
})

