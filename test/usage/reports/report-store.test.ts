import test from 'ava'
import { makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlOwnerNames, makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { monthKey } from '../../../core/usage/month.ts'
import { storeFixture } from '../../authz/stored-fixture.ts'
import { eachDatabase } from '../../support/databases.ts'

const owner = 11 as AccountId
const june = monthKey(2026, 6)
const at = new Date('2026-07-04T00:30:00.123Z')

for (const database of eachDatabase()) {
  test(`${database.name}: a published report is found and read in order`, async (t) => {
    const db = await database.open()
    try {
      const months = makeSqlMonthStore(db)(db)
      const reports = makeSqlUsageReportStore(db)(db)
      const revision = (number: number) =>
        months.begin({
          ownerId: owner,
          month: june,
          revision: number,
          status: 'final',
          watermark: at,
          inputHash: String(number).repeat(64),
          codeVersion: 1,
          generatedAt: at,
        })
      const first = await revision(1)
      const pieces = [new Uint8Array(300_000).fill(7), new Uint8Array([0, 255, 128]), new Uint8Array(1)]
      for (const [n, piece] of pieces.entries()) await reports.addPiece(first, n, piece)
      t.is(await reports.find(owner, june), undefined)
      await months.publish(first)
      const found = await reports.find(owner, june)
      t.is(found?.size, 300_004)
      t.deepEqual(found?.month, {
        id: first,
        ownerId: owner,
        month: june,
        revision: 1,
        status: 'final',
        generatedAt: at,
        inputHash: '1'.repeat(64),
      })
      const read: Uint8Array[] = []
      if (found !== undefined) for await (const piece of reports.pieces(found)) read.push(new Uint8Array(piece))
      t.deepEqual(
        read.map(({ length }) => length),
        pieces.map(({ length }) => length),
      )
      t.true(Buffer.concat(read).equals(Buffer.concat(pieces)))
      const second = await revision(2)
      await reports.addPiece(second, 0, new Uint8Array([1]))
      await months.publish(second)
      t.is((await reports.find(owner, june))?.month.id, second)
      t.is((await reports.find(owner, june, 1))?.month.id, first)
      t.is(await reports.find(12 as AccountId, june), undefined)
    } finally {
      await db.close()
    }
  })

  test(`${database.name}: an account has the name that a report shows`, async (t) => {
    const db = await database.open()
    try {
      await storeFixture(db, {
        users: [1],
        orgs: [{ id: owner, visibility: 'private', members: [1], teams: [], roles: [], grants: [] }],
        clusters: [],
        tokens: [],
      })
      const nameOf = makeSqlOwnerNames(db)
      const name = await nameOf(owner)
      t.truthy(name)
      await db.query((k) => k('organizations').where('id', owner).update({ full_name: 'ООО «Пример»' }))
      t.is(await nameOf(owner), `ООО «Пример» (${name})`)
      t.is(await nameOf(99 as AccountId), undefined)
    } finally {
      await db.close()
    }
  })
}
