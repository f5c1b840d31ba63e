import { randomBytes } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import {
  makeSqlDocumentRemovals,
  makeSqlContractEvents,
  makeSqlContractStore,
} from '../../adapters/sql/contracts/contract-store.ts'
import { makeSqlAuthorityStore, makeSqlLicenseStore } from '../../adapters/sql/contracts/license-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import type { ContractStore, ContractStores } from '../../core/contracts/ports.ts'
import { changeTimeline } from '../../core/contracts/terms.ts'
import { makeRemindOfEnds } from '../../core/contracts/contracts.ts'
import type { ContractEmails, ContractId, ContractTerms } from '../../core/contracts/types.ts'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import type { MailOutbox } from '../../core/mail/ports.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import { makeOutboxFixture } from '../mail/outbox-fixture.ts'
import { callOf } from '../sql/call.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { at, owner, terms } from './contract-store.fixture.ts'

const day = 86_400_000
const days = (count: number): Date => new Date(at.getTime() + count * day)
const noEmails: ContractEmails = {
  contactPerson: [],
  signingAuthority: [],
  licenseUsers: [],
  financeTeam: [],
  usageAlertClient: [],
  usageAlertAdmin: [],
}

/** Contracts with their outbox, and a clock that the test moves. */
const makeFixture = async (db: SqlDatabase) => {
  await storeFixture(db, {
    users: [1],
    orgs: [{ id: 11, visibility: 'private', members: [1], teams: [], roles: [], grants: [] }],
    clusters: [],
    tokens: [],
  })
  const outbox = makeOutboxFixture(db)
  let now = at
  const clock = { now: () => now }
  const [contracts, bindings, events, licenses, authorities] = [
    makeSqlContractStore(db, clock),
    makeSqlBindingStore(db, clock),
    makeSqlContractEvents(db),
    makeSqlLicenseStore(db),
    makeSqlAuthorityStore(db),
  ]
  const posted: string[] = []
  const recorded = (mail: MailOutbox): MailOutbox => ({
    async post(message) {
      await mail.post(message)
      posted.push(message.to)
    },
  })
  const unitOfWork = makeSqlUnitOfWork<ContractStores>(
    db,
    (tx, audit) => ({
      contracts: contracts(tx),
      bindings: bindings(tx),
      events: events(tx),
      licenses: licenses(tx),
      authorities: authorities(tx),
      documentRemovals: makeSqlDocumentRemovals(db)(tx),
      audit,
      mail: recorded(outbox.bind(tx)),
    }),
    makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(randomBytes(32))))),
  )
  const remind = makeRemindOfEnds({ unitOfWork, clock })
  return {
    contracts: contracts(db),
    add: (changes: Partial<ContractTerms>) =>
      contracts(db).insert(owner, terms({ startsAt: days(-100), ...changes }), at),
    /** Runs the job at an instant, until nothing is due. */
    remindAt: async (instant: Date) => {
      now = instant
      while ((await remind(callOf())) > 0);
    },
    remind: () => remind(callOf()),
    /** How many mails were committed. */
    mails: async () => (await outbox.rows()).length,
    /** To whom mails were posted, in the order of addresses. The outbox seals them. */
    recipients: () => posted.toSorted(),
  }
}

/** Changes the end of a contract from an instant on. */
const changeEnd = async (contracts: ContractStore, id: ContractId, endsAt: Date, from: Date): Promise<void> => {
  const changed = unwrap(
    changeTimeline(await contracts.listTerms(id), { endsAt }, from, { recordedAt: at, recordedBy: 'ann@example.com' }),
  )
  await contracts.setTerms(id, changed?.versions ?? [], at)
}

for (const database of eachDatabase()) {
  const onFixture = (
    title: string,
    run: (t: ExecutionContext, fixture: Awaited<ReturnType<typeof makeFixture>>) => Promise<void>,
  ): void =>
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await run(t, await makeFixture(db))
      } finally {
        await db.close()
      }
    })

  onFixture(
    'the people of a contract are reminded once 45 and once 10 days before the end',
    async (t, { add, remindAt, mails, recipients }) => {
      await add({
        endsAt: days(60),
        emails: {
          ...noEmails,
          contactPerson: ['ann@example.com'],
          signingAuthority: ['ann@example.com', 'bob@example.com'],
          financeTeam: ['cash@example.com', 'Ann@example.com'],
          usageAlertAdmin: ['sales@vendor.example'],
        },
      })
      const sentAt = async (instant: Date) => {
        await remindAt(instant)
        return mails()
      }
      const instants = [
        days(14),
        new Date(days(15).getTime() + 1),
        days(30),
        days(49),
        new Date(days(50).getTime() + 1),
        days(59),
        days(61),
      ]
      const counts: number[] = []
      for (const instant of instants) counts.push(await sentAt(instant))
      t.deepEqual(counts, [0, 4, 4, 4, 8, 8, 8])
      t.deepEqual(
        recipients(),
        ['ann@example.com', 'bob@example.com', 'cash@example.com', 'sales@vendor.example'].flatMap((to) => [to, to]),
      )
    },
  )

  onFixture(
    'a late run sends the last reminder alone; after an extension both come again',
    async (t, { add, contracts, remindAt, mails }) => {
      const id = await add({ endsAt: days(5), emails: { ...noEmails, licenseUsers: ['user@example.com'] } })
      await remindAt(at)
      t.is(await mails(), 1)
      await changeEnd(contracts, id, days(400), at)
      for (const instant of [at, days(360), days(395)]) await remindAt(instant)
      t.is(await mails(), 3)
    },
  )

  onFixture(
    'reminders go by the terms in force: an end that is planned counts once its version is in force',
    async (t, { add, contracts, remindAt, mails }) => {
      const id = await add({ endsAt: days(400), emails: { ...noEmails, licenseUsers: ['user@example.com'] } })
      await changeEnd(contracts, id, days(60), days(20))
      await remindAt(days(19))
      t.is(await mails(), 0)
      await remindAt(days(20))
      t.is(await mails(), 1)
      t.like(await contracts.getAny(id), { remindedAt45Days: days(20), remindedAt10Days: undefined })
    },
  )

  onFixture(
    'a contract without people, a short one and a revoked one send nothing, and end the job',
    async (t, { add, contracts, remindAt, mails }) => {
      await add({ endsAt: days(5), emails: noEmails })
      await add({ endsAt: days(5), startsAt: days(-1) })
      await contracts.revoke(await add({ endsAt: days(5) }), at)
      await remindAt(at)
      t.is(await mails(), 0)
    },
  )

  onFixture('instances that run at the same time send one reminder', async (t, { add, remind, mails }) => {
    for (let n = 0; n < 5; n += 1)
      await add({ endsAt: days(30), emails: { ...noEmails, contactPerson: [`person${n}@example.com`] } })
    await Promise.all([remind(), remind(), remind()])
    t.is(await mails(), 5)
  })
}
