import type { Knex } from 'knex'
import type { WebhookStore } from '../../../core/webhooks/ports.ts'
import type { StoredWebhook, WebhookDeliveryId, WebhookId, WebhookOwner } from '../../../core/webhooks/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Row } from '../kit/columns.ts'
import { long, pick, selectedAs, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { auditEvents } from '../tables/audit.ts'
import { accounts } from '../tables/identity.ts'
import { webhookCursors, webhookDeliveries, webhooks } from '../tables/webhooks.ts'

/** The key of the site: no account has the id 0. */
export const ownerKeyOf = (owner: WebhookOwner): number => owner ?? 0

/** The only cursor. */
export const cursorId = 1

export const webhookRow = without(webhooks, 'ownerKey', 'pausedUntil', 'servedAt')

export const webhookOf = ({ sealedSecrets, ...row }: Row<typeof webhookRow>): StoredWebhook => ({
  ...row,
  box: sealedSecrets,
})

const owned = pick(webhooks, 'ownerKey', 'id')
const content = pick(webhooks, 'name', 'url', 'events', 'format', 'isEnabled')
const secrets = pick(webhooks, 'ref', 'sealedSecrets', 'formerUntil')
const versioned = { ...pick(webhooks, 'id', 'ownerKey', 'version'), at: webhooks.updatedAt }

const from = (k: Knex): Knex.QueryBuilder => k('webhooks')
const next = (k: Knex) => k.raw('?? + 1', ['version'])
const withoutFailures = { failures: 0, failingSince: null, pausedUntil: null } as const

const statements = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    pick(webhooks, 'ownerKey'),
    webhookRow,
    (k, p) => from(k).where('owner_key', p.ownerKey),
    (_, rows, cut) => cut(rows.orderBy('id')),
  ),
  find: db.prepare(owned, webhookRow, (k, p) => from(k).where('owner_key', p.ownerKey).where('id', p.id)),
  lockOwner: db.prepare(pick(accounts, 'id'), pick(accounts, 'id'), (k, p) =>
    k('accounts').where('id', p.id).forUpdate(),
  ),
  count: db.prepare(pick(webhooks, 'ownerKey'), { total: selectedAs(long()) }, (k, p) =>
    from(k).where('owner_key', p.ownerKey).count('* as total'),
  ),
  insert: insertInto(db, webhooks, {
    omitted: ['id', 'disabledReason', 'failures', 'failingSince', 'pausedUntil', 'servedAt', 'version'],
  }),
  cursor: db.prepare(pick(webhookCursors, 'id'), pick(webhookCursors, 'id'), (k, p) =>
    k('webhook_cursors').where('id', p.id),
  ),
  lastEvent: db.prepare({}, pick(auditEvents, 'id'), (k) => k('audit_events').orderBy('id', 'desc').limit(1)),
  insertCursor: insertInto(db, webhookCursors, {}, (insert) => insert.onConflict('id').merge(['id'])),
  replace: db.prepare({ ...content, ...versioned }, (k, p) =>
    from(k)
      .where('id', p.id)
      .where('owner_key', p.ownerKey)
      .where('version', p.version)
      .update({
        ...assigned(content, p),
        ...values(webhooks, { ...withoutFailures, disabledReason: '', updatedAt: p.at, version: next(k) }),
      }),
  ),
  replaceSecrets: db.prepare({ ...secrets, ...versioned }, (k, p) =>
    from(k)
      .where('id', p.id)
      .where('owner_key', p.ownerKey)
      .where('version', p.version)
      .update({ ...assigned(secrets, p), ...values(webhooks, { updatedAt: p.at, version: next(k) }) }),
  ),
  disable: db.prepare({ ...pick(webhooks, 'id', 'disabledReason'), at: webhooks.updatedAt }, (k, p) =>
    from(k)
      .where('id', p.id)
      .where('is_enabled', true)
      .update(
        values(webhooks, {
          isEnabled: false,
          disabledReason: p.disabledReason,
          updatedAt: p.at,
          version: next(k),
        }),
      ),
  ),
  remove: db.prepare(owned, (k, p) => from(k).where('owner_key', p.ownerKey).where('id', p.id).delete()),
  add: insertInto(db, webhookDeliveries, {
    omitted: ['id', 'state', 'attempts', 'attemptedAt', 'status', 'answer', 'problem', 'durationMs'],
  }),
  repeat: db.prepare({ ...pick(webhookDeliveries, 'id'), at: webhookDeliveries.dueAt }, (k, p) =>
    k('webhook_deliveries')
      .where('id', p.id)
      .update(values(webhookDeliveries, { state: 'pending', attempts: 0, dueAt: p.at })),
  ),
})

/** WebhookStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlWebhookStore = (db: SqlDatabase): ((runner: SqlRunner) => WebhookStore) => {
  const s = statements(db)
  return (runner) => {
    const startCursor = async (): Promise<void> => {
      if ((await runner.first(s.cursor, { id: cursorId })) !== undefined) return
      const afterId = (await runner.first(s.lastEvent, {}))?.id ?? 0
      await runner.run(s.insertCursor, { id: cursorId, afterId })
    }
    return {
      list: async (owner, page) => mapPage(await s.list(runner, { ownerKey: ownerKeyOf(owner) }, page), webhookOf),
      async find(owner, id) {
        const row = await runner.first(s.find, { ownerKey: ownerKeyOf(owner), id })
        return row === undefined ? undefined : webhookOf(row)
      },
      async lockCount(owner) {
        if (owner !== undefined) await runner.first(s.lockOwner, { id: owner })
        return (await runner.first(s.count, { ownerKey: ownerKeyOf(owner) }))?.total ?? 0
      },
      async insert(owner, sent, { box, ...bound }, at) {
        await startCursor()
        const row = { ...sent, ...bound, orgId: owner, ownerKey: ownerKeyOf(owner), sealedSecrets: box }
        return (await runner.run(s.insert, { ...row, createdAt: at, updatedAt: at })).insertId as WebhookId
      },
      async replace({ id, orgId, version }, { name, url, events, format, isEnabled }, at) {
        const binds = { id, ownerKey: ownerKeyOf(orgId), version, name, url, events, format, isEnabled, at }
        return (await runner.run(s.replace, binds)).affected > 0
      },
      async replaceSecrets({ id, orgId, version }, { ref, box, formerUntil }, at) {
        const binds = { id, ownerKey: ownerKeyOf(orgId), version, ref, sealedSecrets: box, formerUntil, at }
        return (await runner.run(s.replaceSecrets, binds)).affected > 0
      },
      async disable(id, disabledReason, at) {
        return (await runner.run(s.disable, { id, disabledReason, at })).affected > 0
      },
      async remove(owner, id) {
        return (await runner.run(s.remove, { ownerKey: ownerKeyOf(owner), id })).affected > 0
      },
      async add(delivery, at) {
        return (await runner.run(s.add, { ...delivery, dueAt: at, createdAt: at })).insertId as WebhookDeliveryId
      },
      async repeat(id, at) {
        await runner.run(s.repeat, { id, at })
      },
    }
  }
}
