import type { DeliveryQueue, WebhookOwners } from '../../../core/webhooks/ports.ts'
import { aliased, columnsOf, int, long, pick, selectedAs } from '../kit/columns.ts'
import { queryRows, removeRows } from '../kit/fragments.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { assigned, insertAllInto, values } from '../kit/values.ts'
import { emails } from '../tables/identity.ts'
import { teams } from '../tables/organizations.ts'
import { webhookCursors, webhookDeliveries, webhooks } from '../tables/webhooks.ts'
import { cursorId, ownerKeyOf, webhookOf, webhookRow } from './webhook-store.ts'

/** Deliveries that are counted for the lag. */
const mostCounted = 10_000

const deliveryRow = columnsOf(webhookDeliveries)
const attempted = pick(
  webhookDeliveries,
  'state',
  'attempts',
  'attemptedAt',
  'dueAt',
  'status',
  'answer',
  'problem',
  'durationMs',
)
const health = pick(webhooks, 'failures', 'failingSince', 'pausedUntil', 'servedAt')
const atOf = { at: webhookDeliveries.dueAt, limit: int() }

const statements = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    pick(webhookDeliveries, 'webhookId'),
    deliveryRow,
    (k, p) => k('webhook_deliveries').where('webhook_id', p.webhookId),
    (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
  ),
  find: db.prepare(pick(webhookDeliveries, 'webhookId', 'id'), deliveryRow, (k, p) =>
    k('webhook_deliveries').where('id', p.id).where('webhook_id', p.webhookId),
  ),
  cursor: db.prepare(pick(webhookCursors, 'id'), pick(webhookCursors, 'afterId'), (k, p) =>
    k('webhook_cursors').where('id', p.id),
  ),
  moveCursor: db.prepare({ ...pick(webhookCursors, 'id', 'afterId'), to: webhookCursors.afterId }, (k, p) =>
    k('webhook_cursors')
      .where('id', p.id)
      .where('after_id', p.afterId)
      .update(values(webhookCursors, { afterId: p.to })),
  ),
  insertAll: insertAllInto(db, webhookDeliveries, {
    omitted: ['id', 'state', 'attempts', 'attemptedAt', 'status', 'answer', 'problem', 'durationMs'],
  }),
  // One look-up in an index for each webhook, however many deliveries it has.
  dueWebhooks: db.prepare({ ...atOf, pausedAt: webhooks.pausedUntil }, aliased(webhooks, 'w'), (k, p) =>
    k('webhooks as w')
      .where('w.is_enabled', true)
      .where((free) => free.whereNull('w.paused_until').orWhere('w.paused_until', '<=', p.pausedAt))
      .whereExists(
        k('webhook_deliveries as d').select('d.id').whereRaw('d.webhook_id = w.id').where('d.due_at', '<=', p.at),
      )
      .orderBy('w.served_at')
      .orderBy('w.id')
      .limit(p.limit),
  ),
  due: db.prepare({ ...pick(webhookDeliveries, 'webhookId'), ...atOf }, deliveryRow, (k, p) =>
    k('webhook_deliveries')
      .where('webhook_id', p.webhookId)
      .where('due_at', '<=', p.at)
      .orderBy('due_at')
      .orderBy('id')
      .limit(p.limit),
  ),
  saveAttempt: db.prepare({ ...pick(webhookDeliveries, 'id'), ...attempted }, (k, p) =>
    k('webhook_deliveries').where('id', p.id).update(assigned(attempted, p)),
  ),
  saveHealth: db.prepare({ ...pick(webhooks, 'id'), ...health }, (k, p) =>
    k('webhooks').where('id', p.id).update(assigned(health, p)),
  ),
  old: db.prepare({ before: webhookDeliveries.createdAt, limit: int() }, pick(webhookDeliveries, 'id'), (k, p) =>
    k('webhook_deliveries').where('created_at', '<', p.before).orderBy('created_at').limit(p.limit),
  ),
  remove: db.prepare(pick(webhookDeliveries, 'id'), (k, p) => k('webhook_deliveries').where('id', p.id).delete()),
  dueCount: db.prepare(atOf, { total: selectedAs(long()) }, (k, p) =>
    k
      .from(k('webhook_deliveries').select('id').where('due_at', '<=', p.at).limit(p.limit).as('counted'))
      .count({ total: '*' }),
  ),
  oldestDue: db.prepare({ at: webhookDeliveries.dueAt }, pick(webhookDeliveries, 'dueAt'), (k, p) =>
    k('webhook_deliveries').where('due_at', '<=', p.at).orderBy('due_at').limit(1),
  ),
})

/** DeliveryQueue on SQL. */
export const makeSqlDeliveryQueue = (db: SqlDatabase): DeliveryQueue => {
  const s = statements(db)
  return {
    list: (webhookId, page) => s.list(db, { webhookId }, page),
    find: (webhookId, id) => db.first(s.find, { webhookId, id }),
    async cursor() {
      return (await db.first(s.cursor, { id: cursorId }))?.afterId
    },
    async listEnabled(owners) {
      const keys = owners.map(ownerKeyOf)
      const rows = await queryRows(db, webhookRow, (k) =>
        k('webhooks').whereIn('owner_key', keys).where('is_enabled', true).orderBy('id'),
      )
      return rows.map(webhookOf)
    },
    advance: (afterId, to, deliveries, at) =>
      db.transaction(async (tx) => {
        if ((await tx.run(s.moveCursor, { id: cursorId, afterId, to })).affected === 0) return false
        await s.insertAll(
          tx,
          deliveries.map((each) => ({ ...each, dueAt: at, createdAt: at })),
        )
        return true
      }),
    async listDueWebhooks(at, limit) {
      return (await db.all(s.dueWebhooks, { at, pausedAt: at, limit })).map(
        ({ ownerKey: _, pausedUntil: __, servedAt: ___, ...row }) => webhookOf(row),
      )
    },
    listDue: (webhookId, at, limit) => db.all(s.due, { webhookId, at, limit }),
    async saveAttempt(id, { at, problem, ...outcome }) {
      await db.run(s.saveAttempt, { id, ...outcome, attemptedAt: at, problem: problem.slice(0, 500) })
    },
    async saveHealth(id, receiver, at) {
      await db.run(s.saveHealth, { id, ...receiver, servedAt: at })
    },
    removeBefore: (before, limit) => db.transaction((tx) => removeRows(tx, s.old, s.remove, { before, limit })),
    async lag(at) {
      const count = (await db.first(s.dueCount, { at, limit: mostCounted }))?.total ?? 0
      const oldest = (await db.first(s.oldestDue, { at }))?.dueAt
      return { count, oldestSeconds: oldest === undefined ? 0 : (at.getTime() - oldest.getTime()) / 1000 }
    },
  }
}

/** Addresses that one mail goes to. */
const mostAddresses = 20

/** WebhookOwners on SQL. */
export const makeSqlWebhookOwners = (db: SqlDatabase): WebhookOwners => {
  const address = { email: aliased(emails, 'e').email }
  const ofOrganization = db.prepare({ orgId: teams.orgId, limit: int() }, address, (k, p) =>
    k('teams as t')
      .join('team_members as m', 'm.team_id', 't.id')
      .join('users as u', 'u.id', 'm.user_id')
      .join('emails as e', 'e.user_id', 'u.id')
      .where('t.org_id', p.orgId)
      .where('t.permission', 'owner')
      .where('u.is_active', true)
      .where('e.is_primary', true)
      .distinct()
      .orderBy('e.email')
      .limit(p.limit),
  )
  const ofSite = db.prepare({ limit: int() }, address, (k, p) =>
    k('users as u')
      .join('emails as e', 'e.user_id', 'u.id')
      .where('u.is_admin', true)
      .where('u.is_active', true)
      .where('e.is_primary', true)
      .orderBy('e.email')
      .limit(p.limit),
  )
  return {
    async listAddresses(owner) {
      const rows =
        owner === undefined
          ? await db.all(ofSite, { limit: mostAddresses })
          : await db.all(ofOrganization, { orgId: owner, limit: mostAddresses })
      return rows.map(({ email }) => email)
    },
  }
}
