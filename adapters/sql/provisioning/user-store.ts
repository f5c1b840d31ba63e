import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import type { ProvisionedUserStore } from '../../../core/provisioning/ports.ts'
import { Uniqueness } from '../../../core/provisioning/ports.ts'
import type { ProvisionedUser, UserContent, UserLookup } from '../../../core/provisioning/types.ts'
import { directoryKey, rowIdOf } from '../../../core/provisioning/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, cutTo, flag, int, long, pick, present, selectedAs } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertAllInto, insertInto } from '../kit/values.ts'
import { orgMembers } from '../tables/organizations.ts'
import { provisionedEmails, provisionedUsers } from '../tables/provisioning.ts'

const p = aliased(provisionedUsers, 'p')

const userRow = {
  ...pick(p, 'userId', 'orgId', 'userName', 'externalId', 'attributes', 'createdAt', 'updatedAt'),
  // A member who was removed by hand is not active.
  isActive: computed(flag(), 'case when u.is_active = 1 and m.user_id is not null then 1 else 0 end'),
  // Removing a membership changes what is shown, and no row that has a version.
  version: computed(long(), '(p.version + u.version) * 2 + case when m.user_id is null then 0 else 1 end'),
}

const users = (k: Knex): Knex.QueryBuilder =>
  k('provisioned_users as p')
    .join('users as u', 'u.id', 'p.user_id')
    .leftJoin('org_members as m', (on) => on.on('m.user_id', 'p.user_id').andOn('m.org_id', 'p.org_id'))

const slice = { orgId: provisionedUsers.orgId, after: provisionedUsers.userId, limit: int() }
type SliceSlots = { readonly [K in keyof typeof slice]: Slot<'integer'> }

const sliced = (k: Knex, q: SliceSlots): Knex.QueryBuilder =>
  users(k).where('p.org_id', q.orgId).where('p.user_id', '>', q.after).orderBy('p.user_id').limit(q.limit)

const statements = (db: SqlDatabase) => ({
  find: db.prepare({ orgId: provisionedUsers.orgId, id: provisionedUsers.userId }, userRow, (k, q) =>
    users(k).where('p.org_id', q.orgId).where('p.user_id', q.id),
  ),
  count: db.prepare({ orgId: provisionedUsers.orgId }, { total: selectedAs(long()) }, (k, q) =>
    k('provisioned_users').where('org_id', q.orgId).count({ total: '*' }),
  ),
  page: db.prepare({ orgId: provisionedUsers.orgId, limit: int(), offset: int() }, userRow, (k, q) =>
    users(k)
      .whereIn(
        'p.user_id',
        k
          .from(
            k('provisioned_users')
              .select('user_id')
              .where('org_id', q.orgId)
              .orderBy('user_id')
              .limit(q.limit)
              .offset(q.offset)
              .as('paged'),
          )
          .select('user_id'),
      )
      .orderBy('p.user_id'),
  ),
  slice: {
    all: db.prepare(slice, userRow, sliced),
    id: db.prepare({ ...slice, value: provisionedUsers.userId }, userRow, (k, q) =>
      sliced(k, q).where('p.user_id', q.value),
    ),
    userName: db.prepare({ ...slice, value: provisionedUsers.lowerUserName }, userRow, (k, q) =>
      sliced(k, q).where('p.lower_user_name', q.value),
    ),
    externalId: db.prepare({ ...slice, value: present(provisionedUsers.externalId) }, userRow, (k, q) =>
      sliced(k, q).where('p.external_id', q.value),
    ),
    displayName: db.prepare({ ...slice, value: provisionedUsers.lowerDisplayName }, userRow, (k, q) =>
      sliced(k, q).where('p.lower_display_name', q.value),
    ),
    email: db.prepare({ ...slice, value: provisionedEmails.lowerEmail }, userRow, (k, q) =>
      sliced(k, q).whereIn(
        'p.user_id',
        k('provisioned_emails').select('user_id').where('org_id', q.orgId).where('lower_email', q.value),
      ),
    ),
  },
  among: idList(
    db,
    provisionedUsers.userId,
    { orgId: provisionedUsers.orgId },
    { userId: provisionedUsers.userId },
    (k, q, ids) => k('provisioned_users').where('org_id', q.orgId).whereIn('user_id', ids),
  ),
  insert: insertInto(db, provisionedUsers, { omitted: ['version'] }),
  update: db.prepare(
    pick(
      provisionedUsers,
      ...(['userId', 'orgId', 'userName', 'lowerUserName', 'externalId'] as const),
      ...(['lowerDisplayName', 'attributes', 'updatedAt'] as const),
    ),
    (k, { userId, orgId, ...q }) =>
      k('provisioned_users')
        .where('org_id', orgId)
        .where('user_id', userId)
        .update({
          ...assigned(
            pick(
              provisionedUsers,
              ...(['userName', 'lowerUserName', 'externalId', 'lowerDisplayName', 'attributes', 'updatedAt'] as const),
            ),
            q,
          ),
          version: k.raw('version + 1'),
        }),
  ),
  addEmails: insertAllInto(db, provisionedEmails),
  removeEmails: db.prepare({ id: provisionedEmails.userId }, (k, q) =>
    k('provisioned_emails').where('user_id', q.id).delete(),
  ),
  remove: db.prepare({ orgId: provisionedUsers.orgId, id: provisionedUsers.userId }, (k, q) =>
    k('provisioned_users').where('org_id', q.orgId).where('user_id', q.id).delete(),
  ),
  elsewhere: db.prepare({ orgId: orgMembers.orgId, id: orgMembers.userId }, { orgId: orgMembers.orgId }, (k, q) =>
    k('org_members').where('user_id', q.id).whereNot('org_id', q.orgId).limit(1),
  ),
})

const userOf = ({ userId, ...row }: Row<typeof userRow>): ProvisionedUser => ({ id: userId, ...row })

const contentBinds = ({ userName, externalId, displayName, attributes }: UserContent) => ({
  userName,
  lowerUserName: directoryKey(userName),
  externalId,
  lowerDisplayName: cutTo(provisionedUsers.lowerDisplayName, directoryKey(displayName)),
  attributes,
})

const keyOf = ({ by, value }: UserLookup): string => {
  if (by === 'externalId') return value
  const key = directoryKey(value)
  return by === 'displayName' ? cutTo(provisionedUsers.lowerDisplayName, key) : key
}

const nameTaken = () => left(Uniqueness('Another user of the directory of the organization has this userName.'))

/** ProvisionedUserStore over the tables `provisioned_users` and `provisioned_emails`. */
export const makeSqlProvisionedUserStore = (db: SqlDatabase): ((runner: SqlRunner) => ProvisionedUserStore) => {
  const s = statements(db)
  const addEmails = async (runner: SqlRunner, orgId: OrgId, userId: UserId, { emails }: UserContent): Promise<void> => {
    const { length } = provisionedEmails.lowerEmail
    const keys = new Set(emails.map(directoryKey).filter((email) => email.length <= length))
    await s.addEmails(
      runner,
      [...keys].map((lowerEmail) => ({ userId, orgId, lowerEmail })),
    )
  }
  return (runner) => ({
    async find(orgId, id) {
      const row = await runner.first(s.find, { orgId, id })
      return row === undefined ? undefined : userOf(row)
    },
    async count(orgId) {
      return (await runner.first(s.count, { orgId }))?.total ?? 0
    },
    async page(orgId, { startIndex, count }) {
      return (await runner.all(s.page, { orgId, limit: count, offset: startIndex - 1 })).map(userOf)
    },
    async after(orgId, lookup, after, limit) {
      const binds = { orgId, after: after as UserId, limit }
      if (lookup === undefined) return (await runner.all(s.slice.all, binds)).map(userOf)
      if (lookup.by === 'id') {
        const id = rowIdOf(lookup.value) as UserId | undefined
        return id === undefined ? [] : (await runner.all(s.slice.id, { ...binds, value: id })).map(userOf)
      }
      return (await runner.all(s.slice[lookup.by], { ...binds, value: keyOf(lookup) })).map(userOf)
    },
    async among(orgId, ids) {
      if (ids.length === 0) return []
      return (await rowsOfIds(runner, s.among, ids, { orgId })).map(({ userId }) => userId)
    },
    async insert(orgId, id, content, at) {
      try {
        await runner.run(s.insert, { userId: id, orgId, ...contentBinds(content), createdAt: at, updatedAt: at })
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
      await addEmails(runner, orgId, id, content)
      return right(undefined)
    },
    async update(orgId, id, content, at) {
      try {
        await runner.run(s.update, { userId: id, orgId, ...contentBinds(content), updatedAt: at })
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
      await runner.run(s.removeEmails, { id })
      await addEmails(runner, orgId, id, content)
      return right(undefined)
    },
    async remove(orgId, id) {
      await runner.run(s.remove, { orgId, id })
    },
    async isElsewhere(orgId, id) {
      return (await runner.first(s.elsewhere, { orgId, id })) !== undefined
    },
  })
}
