import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { ProvisionedGroupStore } from '../../../core/provisioning/ports.ts'
import { Uniqueness } from '../../../core/provisioning/ports.ts'
import type { GroupContent, GroupLookup, ProvisionedGroup } from '../../../core/provisioning/types.ts'
import { directoryKey, rowIdOf } from '../../../core/provisioning/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, int, long, pick, present, selectedAs } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto } from '../kit/values.ts'
import { teamMembers, teams } from '../tables/organizations.ts'
import { provisionedGroups } from '../tables/provisioning.ts'

const groupRow = {
  ...pick(aliased(provisionedGroups, 'g'), 'teamId', 'orgId', 'displayName', 'externalId', 'createdAt', 'updatedAt'),
  teamName: computed(teams.name, 't.name'),
  version: computed(long(), 'g.version + t.version'),
}

const groups = (k: Knex): Knex.QueryBuilder => k('provisioned_groups as g').join('teams as t', 't.id', 'g.team_id')

const slice = { orgId: provisionedGroups.orgId, after: provisionedGroups.teamId, limit: int() }
type SliceSlots = { readonly [K in keyof typeof slice]: Slot<'integer'> }

const sliced = (k: Knex, q: SliceSlots): Knex.QueryBuilder =>
  groups(k).where('g.org_id', q.orgId).where('g.team_id', '>', q.after).orderBy('g.team_id').limit(q.limit)

const content = pick(provisionedGroups, 'displayName', 'lowerDisplayName', 'externalId', 'updatedAt')

const reads = (db: SqlDatabase) => ({
  find: db.prepare({ orgId: provisionedGroups.orgId, id: provisionedGroups.teamId }, groupRow, (k, q) =>
    groups(k).where('g.org_id', q.orgId).where('g.team_id', q.id),
  ),
  count: db.prepare({ orgId: provisionedGroups.orgId }, { total: selectedAs(long()) }, (k, q) =>
    k('provisioned_groups').where('org_id', q.orgId).count({ total: '*' }),
  ),
  page: db.prepare({ orgId: provisionedGroups.orgId, limit: int(), offset: int() }, groupRow, (k, q) =>
    groups(k).where('g.org_id', q.orgId).orderBy('g.team_id').limit(q.limit).offset(q.offset),
  ),
  slice: {
    all: db.prepare(slice, groupRow, sliced),
    id: db.prepare({ ...slice, value: provisionedGroups.teamId }, groupRow, (k, q) =>
      sliced(k, q).where('g.team_id', q.value),
    ),
    displayName: db.prepare({ ...slice, value: provisionedGroups.lowerDisplayName }, groupRow, (k, q) =>
      sliced(k, q).where('g.lower_display_name', q.value),
    ),
    externalId: db.prepare({ ...slice, value: present(provisionedGroups.externalId) }, groupRow, (k, q) =>
      sliced(k, q).where('g.external_id', q.value),
    ),
    member: db.prepare({ ...slice, value: teamMembers.userId }, groupRow, (k, q) =>
      sliced(k, q).whereIn(
        'g.team_id',
        k('team_members').select('team_id').where('user_id', q.value).where('org_id', q.orgId),
      ),
    ),
  },
  members: idList(
    db,
    teamMembers.teamId,
    { limit: int() },
    pick(aliased(teamMembers, 'm'), 'teamId', 'userId'),
    (k, q, ids) =>
      k('team_members as m')
        .join('provisioned_users as p', (on) => on.on('p.user_id', 'm.user_id').andOn('p.org_id', 'm.org_id'))
        .whereIn('m.team_id', ids)
        .orderBy(['m.team_id', 'm.user_id'])
        .limit(q.limit),
  ),
  membersAmong: idList(
    db,
    teamMembers.userId,
    { id: teamMembers.teamId },
    { userId: teamMembers.userId },
    (k, q, ids) => k('team_members').where('team_id', q.id).whereIn('user_id', ids),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, provisionedGroups, { omitted: ['version'] }),
  update: db.prepare(
    { ...content, orgId: provisionedGroups.orgId, id: provisionedGroups.teamId },
    (k, { orgId, id, ...q }) =>
      k('provisioned_groups')
        .where('org_id', orgId)
        .where('team_id', id)
        .update({ ...assigned(content, q), version: k.raw('version + 1') }),
  ),
})

const groupOf = ({ teamId, ...row }: Row<typeof groupRow>): ProvisionedGroup => ({ id: teamId, ...row })

const contentBinds = ({ displayName, externalId }: GroupContent) => ({
  displayName,
  lowerDisplayName: directoryKey(displayName),
  externalId,
})

const nameTaken = () => left(Uniqueness('Another group of the directory of the organization has this displayName.'))

/** ProvisionedGroupStore over the tables `provisioned_groups` and `team_members`. */
export const makeSqlProvisionedGroupStore = (db: SqlDatabase): ((runner: SqlRunner) => ProvisionedGroupStore) => {
  const [r, w] = [reads(db), writes(db)]
  const after = async (
    runner: SqlRunner,
    binds: { readonly orgId: ProvisionedGroup['orgId']; readonly after: TeamId; readonly limit: number },
    lookup: GroupLookup | undefined,
  ) => {
    const id = lookup === undefined ? undefined : rowIdOf(lookup.value)
    switch (lookup?.by) {
      case undefined:
        return runner.all(r.slice.all, binds)
      case 'id':
        return id === undefined ? [] : runner.all(r.slice.id, { ...binds, value: id as TeamId })
      case 'member':
        return id === undefined ? [] : runner.all(r.slice.member, { ...binds, value: id as UserId })
      case 'externalId':
        return runner.all(r.slice.externalId, { ...binds, value: lookup.value })
      case 'displayName':
        return runner.all(r.slice.displayName, { ...binds, value: directoryKey(lookup.value) })
    }
  }
  return (runner) => ({
    async find(orgId, id) {
      const row = await runner.first(r.find, { orgId, id })
      return row === undefined ? undefined : groupOf(row)
    },
    async count(orgId) {
      return (await runner.first(r.count, { orgId }))?.total ?? 0
    },
    async page(orgId, { startIndex, count }) {
      return (await runner.all(r.page, { orgId, limit: count, offset: startIndex - 1 })).map(groupOf)
    },
    async after(orgId, lookup, id, limit) {
      return (await after(runner, { orgId, after: id as TeamId, limit }, lookup)).map(groupOf)
    },
    async insert(orgId, id, group, at) {
      try {
        await runner.run(w.insert, { teamId: id, orgId, ...contentBinds(group), createdAt: at, updatedAt: at })
        return right(undefined)
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
    },
    async update(orgId, id, group, at) {
      try {
        await runner.run(w.update, { id, orgId, ...contentBinds(group), updatedAt: at })
        return right(undefined)
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
    },
    async members(ids, limit) {
      const rows = await rowsOfIds(runner, r.members, ids, { limit })
      return rows.map(({ teamId, userId }) => ({ groupId: teamId, userId }))
    },
    async membersAmong(id, userIds) {
      if (userIds.length === 0) return []
      return (await rowsOfIds(runner, r.membersAmong, userIds, { id })).map(({ userId }) => userId)
    },
  })
}
