import type { RowDataPacket } from 'mysql2/promise'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { unpackBytes } from '../../../adapters/sql/usage/packed-text.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { gzipPieces } from '../../../composition/runtime/http/answer/reply-answer.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { PackedText } from '../../../core/kernel/exchange.ts'
import { monthKey } from '../../../core/usage/month.ts'
import type { UsageViewKey, UsageViewStore } from '../../../core/usage/views/ports.ts'
import { makeReadView } from '../../../core/usage/views/views.ts'
import { unwrap } from '../../support/outcome.ts'
import { plantRevision } from '../../usage/planted-months.ts'
import type { ObjectPlan } from '../../usage/product-months.ts'
import { monthOfPlans } from '../../usage/product-months.ts'
import { bars } from '../bars.ts'
import { median, pairedRatio } from '../statistics.ts'
import type { MeasureRow } from './row.ts'
import { migrateToNow } from '../../support/schema.ts'

/** In this process, on MariaDB, one after the other: what HTTP and authorization cost is measured by other rows. */

const rounds = 600
const warmUp = 200
const objects = 200
const owner = 11 as AccountId
const month = monthKey(2026, 6)
const key: UsageViewKey = { product: 'dbProduct', view: 'objects-usage-view', viewType: 'total' }

const plans: readonly ObjectPlan[] = Array.from({ length: objects }, (_, n) => ({
  cluster: 1 + (n % 4),
  kind: 'Postgres',
  namespace: `team-${n % 20}`,
  name: `orders-${n}`,
  used: [
    {
      day: 1,
      use: 'prod' as const,
      contractId: 7,
      milliCpuSeconds: BigInt(n) * 99_999_999n,
      mebibyteSeconds: BigInt(n) * 777_777_777n,
    },
  ],
}))

/** Reads the view as a request does; returns the bytes that are sent. */
const reading = (views: UsageViewStore) => {
  const readView = makeReadView({ views })
  return async (
    bytesOf: (pieces: AsyncIterable<string | PackedText>) => AsyncIterable<Uint8Array>,
  ): Promise<number> => {
    const view = unwrap(
      await readView({} as never, { ownerId: owner, month, key, account: 'acme', revision: undefined, filter: {} }),
    )
    let size = 0
    for await (const piece of bytesOf(view.json())) size += piece.length
    return size
  }
}

const plainPieces = async function* (pieces: AsyncIterable<string | PackedText>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : await unpackBytes(piece)
}

/**
 * Row 28: a view of one piece, for clients that accept gzip and for others, each against a select by primary key of the
 * bytes that are sent.
 */
export const usageViews: MeasureRow = async ({ lab, bench }) => {
  const url = await (await lab.mariaDb()).createDatabase()
  bench.progress.doing('migrating a database')
  const db = await openDatabase(url)
  const bare = await createConnection(url)
  try {
    await migrateToNow(db)
    await plantRevision(db, owner, [monthOfPlans(plans, { month })])
    const views = makeSqlUsageViewStore(db)(db)
    const stored = await views.find(owner, month, key)
    const read = reading(views)
    const texts: string[] = []
    if (stored !== undefined) for await (const text of views.pieces(stored)) texts.push(text)
    await bare.query('create table whole_views (id bigint primary key, body mediumblob not null)')
    await bare.execute('insert into whole_views values (1, ?)', [texts.join(',')])
    const select = async (sql: string, id: number): Promise<number> => {
      const [rows] = await bare.execute<RowDataPacket[]>(sql, [id])
      return (rows[0]?.['body'] as Uint8Array | undefined)?.length ?? 0
    }
    const works = {
      gzip: () => read(gzipPieces),
      gzipTwin: () => select('select body from usage_view_pieces where view_id = ? and piece = 0', stored?.id ?? 0),
      plain: () => read(plainPieces),
      plainTwin: () => select('select body from whole_views where id = ?', 1),
    }
    const times: Record<keyof typeof works, number[]> = { gzip: [], gzipTwin: [], plain: [], plainTwin: [] }
    const sizes: Record<keyof typeof works, number> = { gzip: 0, gzipTwin: 0, plain: 0, plainTwin: 0 }
    bench.progress.doing('reading a view')
    for (let round = -warmUp; round < rounds; round += 1) {
      for (const name of ['gzip', 'gzipTwin', 'plain', 'plainTwin'] as const) {
        const from = performance.now()
        sizes[name] = await works[name]()
        if (round >= 0) times[name].push(performance.now() - from)
      }
    }
    return (['gzip', 'plain'] as const).map((name) => ({
      row: '28',
      what: `usage view of ${objects} objects, ${name}`,
      ours: {},
      against: 'select by primary key of as many bytes',
      value: pairedRatio(times[name], times[`${name}Twin`]),
      unit: 'x' as const,
      bar: bars.usageView,
      note: `medians of ${rounds}: ${median(times[name]).toFixed(3)} ms for ${sizes[name]} bytes against ${median(times[`${name}Twin`]).toFixed(3)} ms for ${sizes[`${name}Twin`]} bytes`,
    }))
  } finally {
    await bare.end()
    await db.close()
  }
}
