import { mapPage } from '../../../core/kernel/page.ts'
import type { InstallerStore } from '../../../core/marketplace/ports.ts'
import type { Installer } from '../../../core/marketplace/types.ts'
import type { Row } from '../kit/columns.ts'
import { pick, present, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { marketplaceInstallers } from '../tables/marketplace.ts'

/** Without the archive, which only some callers need, and the password, which only earlier releases write. */
const installerRow = without(marketplaceInstallers, 'archive', 'adminPassword')

const installerOf = ({ boundAt, clusterId, cloudAccountId, ...rest }: Row<typeof installerRow>): Installer => ({
  ...rest,
  binding: boundAt === undefined ? undefined : { clusterId, cloudAccountId, at: boundAt },
})

const byRef = pick(marketplaceInstallers, 'ref')

const reads = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    {},
    installerRow,
    (k) => k('marketplace_installers'),
    (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
  ),
  find: db.prepare(byRef, installerRow, (k, p) => k('marketplace_installers').where('ref', p.ref)),
  findById: db.prepare(pick(marketplaceInstallers, 'id'), installerRow, (k, p) =>
    k('marketplace_installers').where('id', p.id),
  ),
  lock: db.prepare(byRef, installerRow, (k, p) => k('marketplace_installers').where('ref', p.ref).forUpdate()),
  archive: db.prepare(byRef, pick(marketplaceInstallers, 'archive'), (k, p) =>
    k('marketplace_installers').where('ref', p.ref),
  ),
})

/** What a bind sets. */
const bound = pick(
  marketplaceInstallers,
  'boundAt',
  'subscriptionId',
  'clusterId',
  'cloudAccountId',
  'adminUsername',
  'linkExpiresAt',
)

const linkExpiresAt = present(marketplaceInstallers.linkExpiresAt)

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, marketplaceInstallers, {
    omitted: [
      'id',
      'boundAt',
      'subscriptionId',
      'clusterId',
      'cloudAccountId',
      'adminUsername',
      'adminPassword',
      'linkExpiresAt',
    ],
  }),
  bind: db.prepare({ ...bound, id: marketplaceInstallers.id }, (k, p) =>
    k('marketplace_installers').where('id', p.id).update(assigned(bound, p)),
  ),
  renewLink: db.prepare({ id: marketplaceInstallers.id, from: linkExpiresAt, to: linkExpiresAt }, (k, p) =>
    k('marketplace_installers')
      .where(values(marketplaceInstallers, { id: p.id, linkExpiresAt: p.from }))
      .update(values(marketplaceInstallers, { linkExpiresAt: p.to })),
  ),
  eraseBefore: db.prepare({ at: present(marketplaceInstallers.boundAt) }, (k, p) =>
    k('marketplace_installers')
      .where('bound_at', '<', p.at)
      .whereNotNull('admin_password')
      .update(values(marketplaceInstallers, { adminPassword: null })),
  ),
})

/** InstallerStore over the table marketplace_installers. */
export const makeSqlInstallerStore = (db: SqlDatabase): ((runner: SqlRunner) => InstallerStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => {
    const one = async (row: Promise<Row<typeof installerRow> | undefined>): Promise<Installer | undefined> => {
      const found = await row
      return found === undefined ? undefined : installerOf(found)
    }
    return {
      list: async (page) => mapPage(await s.list(runner, {}, page), installerOf),
      find: (ref) => one(runner.first(s.find, { ref })),
      findById: (id) => one(runner.first(s.findById, { id })),
      lock: (ref) => one(runner.first(s.lock, { ref })),
      async insert({ ref, marketplace, accountId, products, contractDays, contact, expiresAt, archive }, at) {
        const row = { ref, marketplace, accountId, products, contractDays, contact, expiresAt, archive, createdAt: at }
        return (await runner.run(s.insert, row)).insertId as Installer['id']
      },
      async archive(ref) {
        return (await runner.first(s.archive, { ref }))?.archive
      },
      async bind({ id }, subscriptionId, { clusterId, cloudAccountId }, adminUsername, when) {
        await runner.run(s.bind, {
          id,
          subscriptionId,
          clusterId,
          cloudAccountId,
          adminUsername,
          linkExpiresAt: when.linkUntil,
          boundAt: when.at,
        })
      },
      async renewLink(id, from, to) {
        await runner.run(s.renewLink, { id, from, to })
      },
      async erasePasswordsBefore(at) {
        return (await runner.run(s.eraseBefore, { at })).affected
      },
    }
  }
}
