import type { AccountId } from '../../../core/kernel/ids.ts'
import { fromWireJson, toWireJson } from '../../../core/kernel/json.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { SealedPlace, SecretBox } from '../../../core/kernel/secret.ts'
import type { InstallerStore } from '../../../core/marketplace/ports.ts'
import type {
  Installer,
  InstallerId,
  InstallerProduct,
  Marketplace,
  SubscriptionId,
} from '../../../core/marketplace/types.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface InstallerRow {
  readonly id: number
  readonly ref: string
  readonly marketplace: string
  readonly account_id: number | null
  readonly products: string
  readonly contract_days: number
  readonly contact: string
  readonly created_at: number
  readonly expires_at: number
  readonly bound_at: number | null
  readonly cluster_id: string
  readonly cloud_account_id: string
  readonly subscription_id: number | null
  readonly link_expires_at: number | null
  readonly admin_username: string
}

/** Without the archive and the password, which only some callers need. */
const columns = [
  'id',
  'ref',
  'marketplace',
  'account_id',
  'products',
  'contract_days',
  'contact',
  'created_at',
  'expires_at',
  'bound_at',
  'cluster_id',
  'cloud_account_id',
  'subscription_id',
  'link_expires_at',
  'admin_username',
] as const

const installerOf = (row: InstallerRow): Installer => ({
  id: row.id as InstallerId,
  ref: row.ref,
  marketplace: row.marketplace as Marketplace,
  accountId: row.account_id === null ? undefined : (row.account_id as AccountId),
  products: fromWireJson(row.products) as readonly InstallerProduct[],
  contractDays: Number(row.contract_days),
  contact: row.contact,
  createdAt: new Date(row.created_at),
  expiresAt: new Date(row.expires_at),
  binding:
    row.bound_at === null
      ? undefined
      : { clusterId: row.cluster_id, cloudAccountId: row.cloud_account_id, at: new Date(row.bound_at) },
  subscriptionId: row.subscription_id === null ? undefined : (row.subscription_id as SubscriptionId),
  linkExpiresAt: row.link_expires_at === null ? undefined : new Date(row.link_expires_at),
  adminUsername: row.admin_username,
})

/** Returns the place of a sealed password. */
const passwordPlace = (ref: string): SealedPlace => ({
  table: 'marketplace_installers',
  column: 'admin_password',
  tenantId: 0,
  rowRef: ref,
})

const reads = (db: SqlDatabase) => ({
  list: pageQuery(
    db,
    (k) => k('marketplace_installers'),
    (_, rows, cut) => cut(rows.select(...columns).orderBy('id', 'desc')),
  ),
  find: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_installers')
      .where('ref', p('ref'))
      .select(...columns),
  ),
  findById: db.prepare((k, p: Params<'id'>) =>
    k('marketplace_installers')
      .where('id', p('id'))
      .select(...columns),
  ),
  lock: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_installers')
      .where('ref', p('ref'))
      .select(...columns)
      .forUpdate(),
  ),
  archive: db.prepare((k, p: Params<'ref'>) => k('marketplace_installers').where('ref', p('ref')).select('archive')),
  password: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_installers').where('ref', p('ref')).select('admin_password'),
  ),
})

type InsertBind = 'ref' | 'marketplace' | 'account' | 'products' | 'days' | 'contact' | 'at' | 'expires' | 'archive'

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<InsertBind>) =>
    k('marketplace_installers').insert({
      ref: p('ref'),
      marketplace: p('marketplace'),
      account_id: p('account'),
      products: p('products'),
      contract_days: p('days'),
      contact: p('contact'),
      created_at: p('at'),
      expires_at: p('expires'),
      archive: p('archive'),
    }),
  ),
  bind: db.prepare(
    (k, p: Params<'id' | 'subscription' | 'cluster' | 'cloudAccount' | 'username' | 'password' | 'until' | 'at'>) =>
      k('marketplace_installers')
        .where('id', p('id'))
        .update({
          bound_at: p('at'),
          subscription_id: p('subscription'),
          cluster_id: p('cluster'),
          cloud_account_id: p('cloudAccount'),
          admin_username: p('username'),
          admin_password: p('password'),
          link_expires_at: p('until'),
        }),
  ),
  renewLink: db.prepare((k, p: Params<'id' | 'from' | 'to'>) =>
    k('marketplace_installers')
      .where({ id: p('id'), link_expires_at: p('from') })
      .update({ link_expires_at: p('to') }),
  ),
  eraseOf: db.prepare((k, p: Params<'subscription'>) =>
    k('marketplace_installers')
      .where('subscription_id', p('subscription'))
      .whereNotNull('admin_password')
      .update({ admin_password: null }),
  ),
  eraseBefore: db.prepare((k, p: Params<'at'>) =>
    k('marketplace_installers')
      .where('bound_at', '<', p('at'))
      .whereNotNull('admin_password')
      .update({ admin_password: null }),
  ),
})

/** InstallerStore over the table marketplace_installers. */
export const makeSqlInstallerStore = (
  db: SqlDatabase,
  secretBox: SecretBox,
): ((runner: SqlRunner) => InstallerStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => {
    const one = async (row: Promise<InstallerRow | undefined>): Promise<Installer | undefined> => {
      const found = await row
      return found === undefined ? undefined : installerOf(found)
    }
    return {
      list: async (page) => mapPage(await s.list<InstallerRow>(runner, {}, page), installerOf),
      find: (ref) => one(runner.first(s.find, { ref })),
      findById: (id) => one(runner.first(s.findById, { id })),
      lock: (ref) => one(runner.first(s.lock, { ref })),
      async insert({ ref, marketplace, accountId, products, contractDays, contact, expiresAt, archive }, at) {
        const { insertId } = await runner.run(s.insert, {
          ref,
          marketplace,
          account: accountId ?? null,
          products: toWireJson(products),
          days: contractDays,
          contact,
          at: at.getTime(),
          expires: expiresAt.getTime(),
          archive,
        })
        return insertId as InstallerId
      },
      async archive(ref) {
        return (await runner.first<{ readonly archive: Uint8Array }>(s.archive, { ref }))?.archive
      },
      async bind({ id, ref }, subscription, { clusterId, cloudAccountId }, { username, password }, { at, linkUntil }) {
        await runner.run(s.bind, {
          id,
          subscription,
          cluster: clusterId,
          cloudAccount: cloudAccountId,
          username,
          password: password === undefined ? null : await secretBox.seal(password, passwordPlace(ref)),
          until: linkUntil.getTime(),
          at: at.getTime(),
        })
      },
      async renewLink(id, from, to) {
        await runner.run(s.renewLink, { id, from: from.getTime(), to: to.getTime() })
      },
      async adminPassword(ref) {
        const row = await runner.first<{ readonly admin_password: Uint8Array | null }>(s.password, { ref })
        const box = row?.admin_password ?? undefined
        return box === undefined ? undefined : secretBox.open(box, passwordPlace(ref))
      },
      async erasePasswordOf(subscription) {
        await runner.run(s.eraseOf, { subscription })
      },
      async erasePasswordsBefore(at) {
        return (await runner.run(s.eraseBefore, { at: at.getTime() })).affected
      },
    }
  }
}
